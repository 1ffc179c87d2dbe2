#!/bin/sh
# docs/options.md is what the program makes of its options.
#
#   check_options.sh RUDDER PAGE
"$1" completion markdown | diff -u "$2" - && exit 0
echo "make it again: rudder completion markdown >docs/options.md"
exit 1
