"""The model in torch: what it learns from, and what its file holds.

    model_test.py PROMPT_SAMPLES
"""
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import types
import unittest
import unittest.mock

import numpy as np
import torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "steering-model"))
import batches  # noqa: E402
import decisions  # noqa: E402
import evaluate  # noqa: E402
import files  # noqa: E402
import model  # noqa: E402
import prompts  # noqa: E402
import train  # noqa: E402
import vocabulary as words  # noqa: E402
import worlds  # noqa: E402


def small(vocabulary):
    config = model.Config(2, 32, 4, 2, 64, 2048, len(vocabulary))
    return config, model.initial(config, 1)


class ModelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        torch.set_num_threads(1)
        cls.vocabulary = train.made_vocabulary(1700)

    def batch(self, count=4):
        group = worlds.draw_group(9, 0, count, worlds.Names(), most_lines=2)
        return batches.batch_of(self.vocabulary, group[0].system(), [(w.user(), w.reply()) for w in group]), group

    def test_sizes_are_what_they_are_called(self):
        for size in model.SIZES:
            millions = model.parameters(model.config_of(size, 1700)) / 1e6
            self.assertLess(abs(millions / float(size) - 1), 0.05, size)

    def test_the_loss_is_that_of_the_replies(self):
        config, weights = small(self.vocabulary)
        batch, _ = self.batch()
        loss, _, _ = train.loss_of(config, weights, batch, 0)
        changed = batch.rows.clone()
        changed[0, batch.ends[0] :] = 9  # what stands behind a reply
        same, _, _ = train.loss_of(config, weights, batches.Batch(batch.system, changed, batch.begins, batch.ends), 0)
        self.assertAlmostEqual(loss.item(), same.item(), places=5)
        logits, targets, rows = batches.reply_logits(config, weights, batch)
        self.assertEqual(len(targets), sum(e - b for b, e in zip(batch.begins, batch.ends)))
        self.assertEqual(int((targets == words.END).sum()), len(batch.begins))

    def test_prompts_are_learned_by_heart(self):
        config, weights = small(self.vocabulary)
        batch, group = self.batch()
        optimizer = torch.optim.AdamW(weights.values(), lr=1e-2, betas=(0.9, 0.98))
        for _ in range(80):
            loss, _, _ = train.loss_of(config, weights, batch, 0)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
            optimizer.step()
        with torch.no_grad():
            for w in group:
                self.assertEqual(batches.reply_of(config, weights, self.vocabulary, w.system(), w.user()), w.reply())
                scores = evaluate.likelihoods(config, weights, self.vocabulary, w.system(), w.user(), w.actions)
                self.assertEqual(int(scores.argmax()), w.best)

    def decisions(self):
        """Worlds as if they had been collected: keep costs 100, the best action 80, all others 120."""
        made = []
        for w in worlds.draw_group(9, 0, 6, worlds.Names(), most_lines=2):
            costs = [100.0] + [120.0] * (len(w.actions) - 1)
            costs[w.best] = 80.0
            made.append(decisions.Decision("graph", len(made), w.system(), w.user(), w.actions, tuple(costs), 0))
        return made

    def test_every_second_batch_is_of_collected_decisions(self):
        options = types.SimpleNamespace(batch=6, seed=1, most_lines=2, short=0, short_batch=16)
        made = self.decisions()
        source = train.Source(options, self.vocabulary, made, 10)
        for step in (1, 3):
            batch = source.batch(step)
            replies = {self.vocabulary.decode(row[b : e - 1]) for row, b, e in
                       zip(batch.rows.tolist(), batch.begins, batch.ends)}
            self.assertEqual(replies, {d.reply() for d in made})
        self.assertFalse(torch.equal(source.batch(0).system, source.batch(1).system))
        self.assertFalse(torch.equal(source.batch(0).system, source.batch(2).system))

    def test_short_prompts_come_first_and_without_a_system_message(self):
        options = types.SimpleNamespace(batch=6, seed=1, most_lines=3, short=8, short_batch=16)
        source = train.Source(options, self.vocabulary, [], 10)
        lengths = []
        for step in range(8):
            batch = source.batch(step)
            self.assertEqual(batch.system.shape[1], 3, "nothing but its marks")
            self.assertEqual(batch.rows.shape[0], 16)
            texts = [self.vocabulary.decode(row[:b]) for row, b in zip(batch.rows.tolist(), batch.begins)]
            self.assertTrue(all(t.startswith(prompts.EFFECTS) and t.endswith(prompts.QUESTION) for t in texts))
            lengths.append(max(batch.begins))
        self.assertEqual(lengths[:4], sorted(lengths[:4]), "drawn together, sorted by length")
        self.assertGreater(source.batch(8).system.shape[1], 100)

    def test_training_goes_on_where_it_was_ended(self):
        def trained(folder, ends):
            for steps in ends:
                options = types.SimpleNamespace(batch=2, seed=1, most_lines=2, short=4, short_batch=16, out=folder,
                                                rate=None, size="0.3", prompt_loss=0, checkpoint=2)
                config, _ = small(self.vocabulary)
                with unittest.mock.patch("builtins.print"):
                    weights, course = train.train(options, config, train.Source(options, self.vocabulary, [], 2), 6,
                                                  stop=steps)
            return weights, course

        with tempfile.TemporaryDirectory() as once, tempfile.TemporaryDirectory() as twice:
            (whole, course), (parts, again) = trained(once, (None,)), trained(twice, (2, None))
        self.assertEqual([c["step"] for c in course], [2, 4, 6])
        self.assertEqual([c["loss"] for c in course], [c["loss"] for c in again])
        for name in whole:
            self.assertTrue(torch.equal(whole[name], parts[name]), name)

    def test_decisions_are_scored_by_what_was_chosen(self):
        made = self.decisions()

        def score(place):
            with unittest.mock.patch.object(evaluate, "likelihoods", lambda *a: torch.tensor(place(a[-1]))):
                return evaluate.on_decisions(None, None, self.vocabulary, made)

        wanted = {id(d.actions): d.target() for d in made}
        best = score(lambda actions: [float(i == wanted[id(actions)]) for i in range(len(actions))])
        keep = score(lambda actions: [float(i == 0) for i in range(len(actions))])
        self.assertEqual((best["no worse than keep"], round(best["over the best"], 9)), (1, 0))
        self.assertEqual(keep["no worse than keep"], 1)
        self.assertAlmostEqual(keep["over the best"], keep["keep over the best"])
        self.assertIsNone(evaluate.on_decisions(None, None, self.vocabulary, []))

    def test_the_rate_rises_and_falls(self):
        rates = [train.rate_at(step, 1000, 1.0) for step in range(1000)]
        self.assertEqual(max(rates), rates[50])
        self.assertEqual(sorted(rates[:50]), rates[:50])
        self.assertEqual(sorted(rates[50:], reverse=True), rates[50:])
        self.assertAlmostEqual(rates[-1], 0.1, places=3)


class FilesTest(unittest.TestCase):
    def test_the_checksum_is_the_program_s(self):
        for size in (0, 1, 4 << 20, (9 << 20) + 5):
            data = np.random.default_rng(size).integers(0, 256, size, dtype=np.uint8).tobytes()
            with tempfile.NamedTemporaryFile() as file:
                file.write(data)
                file.flush()
                wanted = subprocess.run([SAMPLES, "--checksum", file.name], check=True, capture_output=True, text=True)
            self.assertEqual(files.checksum(data), wanted.stdout.strip(), size)

    def test_bfloat16_is_rounded_as_torch_does(self):
        values = np.random.default_rng(1).standard_normal(100_000).astype(np.float32)
        halfway = np.arange(0x3F808000, 0x40008000, 0x8000, dtype=np.uint32).view(np.float32)
        values = np.concatenate((values, halfway, -halfway))
        wanted = torch.from_numpy(values).to(torch.bfloat16)
        self.assertTrue(np.array_equal(files.to_bfloat16(values), wanted.view(torch.uint16).numpy()))
        self.assertTrue(np.array_equal(files.from_bfloat16(files.to_bfloat16(values)), wanted.float().numpy()))

    def test_what_is_written_is_read(self):
        vocabulary = words.Vocabulary.of_merges(["ab"])
        config, weights = small(vocabulary)
        arrays = {name: w.detach().to(torch.bfloat16).float().numpy() for name, w in weights.items()}
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/model.safetensors"
            files.write_model(path, {"layers": 2}, vocabulary.tokens, arrays)
            read, tokens, found = files.read_model(path)
            content = pathlib.Path(path).read_bytes()
            self.assertEqual((read, tokens), ({"layers": 2}, vocabulary.tokens))
            self.assertEqual(list(found), list(model.shapes(config)))
            for name, array in arrays.items():
                self.assertTrue(np.array_equal(found[name], array), name)
            size = struct.unpack("<Q", content[:8])[0]
            self.assertEqual(size % 8, 0)
            words_of = json.loads(content[8 : 8 + size])["__metadata__"]
            self.assertTrue(all(isinstance(value, str) for value in words_of.values()))
            pathlib.Path(path).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
            with self.assertRaisesRegex(SystemExit, "invalid model file: the checksum"):
                files.read_model(path)


if __name__ == "__main__":
    SAMPLES = sys.argv.pop(1)
    unittest.main()
