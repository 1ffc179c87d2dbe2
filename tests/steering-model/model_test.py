"""The model in torch: what it learns from, and what its file holds.

    model_test.py PROMPT_SAMPLES
"""
import contextlib
import dataclasses
import json
import math
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
import sizes  # noqa: E402
import train  # noqa: E402
import vocabulary as words  # noqa: E402
import worlds  # noqa: E402
from questions import Question  # noqa: E402


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
        return batches.batch_of(self.vocabulary, [evaluate.asked(w) for w in group]), group

    def judge(self, config, weights):
        return evaluate.Judge(config, weights, self.vocabulary)

    def loss(self, config, weights, batch, choice=0.0, pair=0.0):
        options = types.SimpleNamespace(choice_loss=choice, pair_loss=pair)
        return train.loss_of(config, weights, batch, model.turns(config, 0, config.context), options)

    def test_sizes_are_what_they_are_called(self):
        for size in model.SIZES:
            millions = model.parameters(model.config_of(size, 1700)) / 1e6
            self.assertLess(abs(millions / float(size) - 1), 0.05, size)

    def test_replies_side_by_side_are_as_likely_as_each_alone(self):
        config, weights = small(self.vocabulary)
        made = self.decisions()
        asked = [decisions.question(d) for d in made] + [evaluate.asked(w) for w in worlds.draw_group(9, 1, 2, worlds.Names())]
        found = list(self.judge(config, weights).answers(asked))
        with torch.no_grad():
            for question, (scores, _) in zip(asked, found, strict=True):
                head, row = self.vocabulary.prompt(question.system, question.user)
                for place, reply in enumerate(question.replies):
                    ids = head + row + self.vocabulary.encode(reply) + [words.END]
                    states, _ = model.forward(config, weights, torch.tensor([ids]))
                    each = torch.log_softmax(model.logits(weights, states[0]), dim=-1)
                    wanted = sum(float(each[at - 1, ids[at]]) for at in range(len(head + row), len(ids)))
                    self.assertAlmostEqual(float(scores[place]), wanted, places=3)

    def test_the_loss_is_that_of_the_right_replies(self):
        config, weights = small(self.vocabulary)
        batch, group = self.batch()
        loss, replies, _ = self.loss(config, weights, batch)
        self.assertEqual(loss.item(), replies.item())
        alone = [batches.batch_of(self.vocabulary, [evaluate.asked(w)]) for w in group]
        tokens = [int(batches.of_best(one).sum()) for one in alone]
        self.assertEqual(tokens, [len(self.vocabulary.encode(w.reply())) + 1 for w in group])
        each = [self.loss(config, weights, one)[0].item() for one in alone]
        self.assertAlmostEqual(loss.item(), sum(n * e for n, e in zip(tokens, each)) / sum(tokens), places=4)

    def test_choosing_is_learned_among_what_is_possible(self):
        batch = batches.batch_of(self.vocabulary, [Question("", "q", ('{"action":"keep"}', '{"action":"replace","fraction":1}'), 1, (100, 90)),
                                                   Question("", "q", ('{"action":"keep"}', '{"action":"replace","fraction":1}'), 0, (100, 101))])
        replies = torch.tensor([[-1.0, -2.0], [-1.0, -2.0]], requires_grad=True)
        train.pair_loss_of(batch, replies).backward()
        self.assertTrue(torch.allclose(replies.grad.sum(dim=1), torch.zeros(2)))
        self.assertLess(replies.grad[0, 1], 0, "replacing costs less: it is to be likelier")
        self.assertGreater(replies.grad[1, 1], 0)
        self.assertGreater(-replies.grad[0, 1], 10 * replies.grad[1, 1], "ten per cent count in full, one hardly")

    def test_prompts_are_learned_by_heart(self):
        config, weights = small(self.vocabulary)
        batch, group = self.batch()
        optimizer = torch.optim.AdamW(weights.values(), lr=1e-2, betas=(0.9, 0.98))
        for _ in range(80):
            loss, _, _ = self.loss(config, weights, batch, choice=0.5)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(list(weights.values()), 1.0)
            optimizer.step()
        with torch.no_grad():
            for w in group:
                self.assertEqual(batches.reply_of(config, weights, self.vocabulary, w.system(), w.user()), w.reply())
        for w, (scores, written) in zip(group, self.judge(config, weights).answers([evaluate.asked(w) for w in group]), strict=True):
            self.assertEqual((int(scores.argmax()), written), (w.best, True))

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
        source = train.Source(options, self.vocabulary, made)
        for step in (1, 3):
            asked = source.questions(step)
            self.assertEqual(sorted(q.best for q in asked), sorted(d.target() for d in made), "each once")
            self.assertTrue(all(q.costs for q in asked))
        self.assertFalse(any(q.costs for q in source.questions(0) + source.questions(2)))
        self.assertNotEqual(source.questions(0)[0].system, source.questions(2)[0].system)

    def test_large_batches_are_of_several_runs(self):
        options = types.SimpleNamespace(batch=48, seed=1, most_lines=2, short=0, short_batch=16)
        asked = train.Source(options, self.vocabulary, []).questions(0)
        self.assertEqual((len(asked), len({q.system for q in asked})), (48, 3))

    def test_short_prompts_come_first_and_without_a_system_message(self):
        options = types.SimpleNamespace(batch=6, seed=1, most_lines=3, short=8, short_batch=16)
        source = train.Source(options, self.vocabulary, [])
        lengths = []
        for step in range(8):
            asked = source.questions(step)
            self.assertEqual({q.system for q in asked}, {""})
            self.assertEqual(len(asked), 16)
            self.assertTrue(all(q.user.startswith(prompts.EFFECTS) and q.user.endswith(prompts.QUESTION) for q in asked))
            lengths.append(max(len(q.user) for q in asked))
        self.assertEqual(lengths[:4], sorted(lengths[:4]), "drawn together, sorted by length")
        self.assertGreater(len(source.questions(8)[0].system), 100)

    def test_other_processes_draw_the_same(self):
        options = types.SimpleNamespace(batch=4, seed=1, most_lines=2, short=2, short_batch=16)
        source = train.Source(options, self.vocabulary, self.decisions())
        with contextlib.closing(train.Drawer(source, 2)) as several, contextlib.closing(train.Drawer(source, 0)) as one:
            for ours, theirs, _ in zip(one.batches(1), several.batches(1), range(5)):
                for field in dataclasses.fields(batches.Batch):
                    self.assertTrue(torch.equal(torch.nan_to_num(getattr(ours, field.name)), torch.nan_to_num(getattr(theirs, field.name))), field.name)

    def test_training_goes_on_where_it_was_ended(self):
        def trained(folder, ends):
            for steps in ends:
                options = types.SimpleNamespace(batch=2, seed=1, most_lines=2, short=4, short_batch=16, out=folder, steps=2, device="cpu",
                                                rate=None, size="0.3", choice_loss=0.5, pair_loss=0.5, checkpoint=2)
                config, _ = small(self.vocabulary)
                with unittest.mock.patch("builtins.print"):
                    weights, course = train.train(options, config, train.Drawer(train.Source(options, self.vocabulary, []), 0), stop=steps)
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
            answers = [(torch.tensor(place(d.actions)), True) for d in made]
            return evaluate.on_decisions(types.SimpleNamespace(answers=lambda questions: answers), made)

        wanted = {id(d.actions): d.target() for d in made}
        best = score(lambda actions: [float(i == wanted[id(actions)]) for i in range(len(actions))])
        keep = score(lambda actions: [float(i == 0) for i in range(len(actions))])
        self.assertEqual((best["no worse than keep"], round(best["over the best"], 9)), (1, 0))
        self.assertEqual(keep["no worse than keep"], 1)
        self.assertAlmostEqual(keep["over the best"], keep["keep over the best"])
        self.assertIsNone(evaluate.on_decisions(None, []))

    def test_yes_and_no_are_judged_between_keeping_and_replacing_all(self):
        keep, replace, other = {"action": "keep"}, {"action": "replace", "fraction": 1}, {"action": "set", "knobs": {"window": 4}}

        def decision(rows):
            return decisions.Decision("g", 0, "s", "u", (keep, replace, other), (100.0, rows, 50.0), 0)

        made = [decision(90.0), decision(80.0), decision(110.0), decision(120.0)]
        says = [[0, 1, 5], [1, 0, 5], [1, 0, 5], [1, 0, 5]]  # yes, no, no, no; something else is always likelier
        judge = types.SimpleNamespace(answers=lambda questions: [(torch.tensor(s), True) for s in says])
        found = evaluate.on_decisions(judge, made)
        self.assertEqual((found["balanced"], found["yes or no"]), (0.75, 4))
        self.assertEqual((found["telling"], found["best chosen of these"], found["over the best"]), (4, 1, 0))

    def test_the_rate_rises_and_falls(self):
        rates = [train.rate_at(step, 200, 1200, 1.0) for step in range(1200)]
        self.assertEqual(sorted(rates[:100]), rates[:100])
        self.assertEqual(rates[99:900], [1.0] * 801)
        self.assertEqual(sorted(rates[900:], reverse=True), rates[900:])
        self.assertLess(rates[-1], 0.03)
        self.assertEqual([train.rate_at(step, 200, None, 1.0) for step in range(900)], rates[:900])

    def test_minutes_become_steps_while_it_goes_on(self):
        with unittest.mock.patch("time.monotonic", side_effect=range(1000)):
            clock = train.Clock(types.SimpleNamespace(short=5, minutes=1.0))
            found = [clock.steps(step) for step in range(5)]
            while not found[-1]:
                found.append(clock.steps(len(found)))
        # A step takes a second, from the sixth on: 60 seconds, and 70 % of those left then.
        self.assertEqual(len(found) - 5, math.ceil(0.7 * 59) + 1)
        self.assertAlmostEqual(found[-1], 65, delta=2)


class SizesTest(unittest.TestCase):
    def test_the_smallest_within_one_per_cent_is_taken(self):
        self.assertEqual(sizes.smallest_within({"0.3": (0.90, 1.02), "1": (0.96, 1.02), "2": (0.965, 1.01)}), "1")
        self.assertEqual(sizes.smallest_within({"0.3": (0.96, 1.05), "1": (0.96, 1.02), "2": (0.965, 1.015)}), "1")
        self.assertEqual(sizes.smallest_within({"0.3": (0.90, None), "5": (0.96, None)}), "5")
        self.assertEqual(sizes.smallest_within({"0.3": (0.99, 1.5), "5": (0.9, 1.0)}), "0.3", "nothing is good in both")


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
