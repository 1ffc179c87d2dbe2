"""Runs llama.cpp's server with a model until standard input ends; prints its address.

    serve.py MODEL
"""
import sys

import xllamacpp

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 16384
params.n_parallel = 1
params.cpuparams.n_threads = 1
params.cpuparams_batch.n_threads = 1
params.n_gpu_layers = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
