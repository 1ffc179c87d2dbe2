"""What live_figures.py makes of its runs: cells, tables and the whole as JSON."""
import os
import platform
import statistics
import time

import live_bandit as live

RANKS = live.RANKS
JUDGED = 3  # runs of each side of a change that was taken on the clock


class Tables:
    """Of the runs that are kept so far."""

    def __init__(self, runs):
        self.of = runs
        self.o = runs.o

    def runs(self, graph, share, name):
        return [self.of.kept[graph, share, name, r] for r in range(self.o.repeat) if (graph, share, name, r) in self.of.kept]

    def rivals(self, graph, share):
        members = {name[6:] for g, s, name, _ in self.of.kept if (g, s) == (graph, share) and name.startswith("alone ")}
        return {member: self.runs(graph, share, f"alone {member}") for member in sorted(members)}

    def change_judged(self, graph, share, change):
        """What the sides cost, and in what; None: not known."""
        if change["reason"] != "timed_better":
            known = self.of.rows.get((graph, share), {})
            policies = [change[side]["policy"] for side in ("left", "took")]
            return [known.get(policy) or self.of.replayed.get((graph, share, policy)) for policy in policies], "rows"
        costs = []
        for side in ("left", "took"):
            runs = [self.of.timed.get((graph, share, live.told(change[side]), r)) for r in range(JUDGED)]
            runs = [run for run in runs if run]
            costs.append(live.Figures(runs).stall if runs else None)
        return costs, "s of stall"

    def judged(self, graph, share, start, runs):
        wrong, unknown = [], []
        for number, run in enumerate(runs):
            for change in run["taken"]:
                where = (f"{graph}, {start}, run {number + 1}: rank {change['rank']}, step {change['step']}: "
                         f"{live.told(change['left'])} to {live.told(change['took'])} ({change['status']})")
                (left, took), unit = self.change_judged(graph, share, change)
                if left is None or took is None:
                    unknown.append(where)
                elif took > (1 + live.TOLERATED) * left:
                    wrong.append(f"{where}: {took:,.6g} instead of {left:,.6g} {unit}")
        return wrong, unknown

    def start_cells(self, graph, start):
        policy, share = live.STARTS[start]
        runs = self.runs(graph, share, policy if share == 1 else start)
        rivals = self.rivals(graph, share)
        if not runs or not rivals:
            return None
        of_rivals = {member: live.Figures(found) for member, found in rivals.items()}
        fewest = min(of_rivals, key=lambda m: of_rivals[m].rows)
        # Of those that were run as often as was asked for, where there are any: a single run is no median.
        often = {m: f for m, f in of_rivals.items() if len(rivals[m]) == max(map(len, rivals.values()))}
        least = min(often, key=lambda m: often[m].stall)
        mine, best = live.Figures(runs), often[least]
        stalls = [live.Figures([run]).stall / max(1e-9, best.stall) for run in runs]
        rows = [live.Figures([run]).rows / max(1, of_rivals[fewest].rows) for run in runs]
        wrong, unknown = self.judged(graph, share, start, runs)
        shares = [run["agent"]["cpu_share"] for run in runs]
        return {
            "graph": graph, "start": start, "runs": len(runs), "rows": mine.rows,
            "rows over the fewest": round(mine.rows / max(1, of_rivals[fewest].rows), 4), "fewest": fewest,
            "rows over, least and most": [round(min(rows), 4), round(max(rows), 4)],
            "stall, s": round(mine.stall, 4), "least stall, s": round(best.stall, 4), "least stall of": least,
            "runs of the least": len(rivals[least]), "stall over the least": round(mine.stall / max(1e-9, best.stall), 4),
            "stall over, least and most": [round(min(stalls), 4), round(max(stalls), 4)],
            "more, of a step": round((mine.stall - best.stall) / RANKS / mine.steps / best.time, 5),
            "step, ms": round(mine.time * 1e3, 3), "step of the best, ms": round(best.time * 1e3, 3), "steps": mine.steps,
            "changes taken": sum(len(run["taken"]) for run in runs), "wrong": wrong, "not judged": unknown,
            "agent's share of CPU": round(statistics.median(shares), 5),
            "share, least and most": [round(min(shares), 5), round(max(shares), 5)],
            "agent's CPU per rank and step, ms": round(statistics.median(
                run["agent"]["cpu_seconds"] / RANKS / len(run["steps"]) * 1e3 for run in runs), 4),
            "regret": statistics.median(run["agent"]["regret"] for run in runs) if all(
                run["agent"]["regret"] is not None for run in runs) else None}

    def link_cells(self, graph, start):
        run = self.of.changing.get((graph, start))
        share = live.STARTS[start][1]
        usual = {member: live.Figures(found).time for member, found in self.rivals(graph, share).items()}
        slow = {m: live.Figures([kept]).time for (g, s, m), kept in self.of.slow.items() if (g, s) == (graph, share)}
        if not run or not usual or not slow:
            return None
        times = [step[3] for step in run["steps"]]
        cells = {"graph": graph, "start": start}
        for where, of, begin, end in (("fallen", slow, run["falls"], run["back"]), ("back", usual, run["back"], len(times))):
            best = min(of, key=of.get)
            steps = live.near_after(times, begin, end, of[best])
            after = times[begin + live.SMOOTHED:end] or times[begin:end]
            cells[where] = {"best": best, "step of the best, ms": round(of[best] * 1e3, 3), "steps until near": steps,
                            "of": end - begin, "later steps over the best": round(statistics.mean(after) / of[best], 4)}
        learned = run["agent"]["learned"]
        cells["noticed"] = sum("the run changed" in text and "the run changed 0 times" not in text for text in learned)
        cells["agents"] = len(learned)
        return cells

    def tables(self):
        pairs = [(graph, start) for graph in self.o.graphs for start in self.o.starts]
        starts = [cells for pair in pairs if (cells := self.start_cells(*pair))]
        links = [cells for graph, start in pairs if (cells := self.link_cells(graph, start))]
        return starts, links

    def figures(self):
        starts, links = self.tables()

        def flat(kept):
            return {" / ".join(map(str, key)): value for key, value in sorted(kept.items(), key=str)}
        return {"machine": machine(), "date": time.strftime("%Y-%m-%d"), "options": vars(self.o), "lanes": self.of.lanes.lanes,
                "shapes": {graph: self.of.shape(graph) for graph in self.o.graphs}, "prepared": self.of.prepared, "starts": starts,
                "links": links, "skipped": self.of.lanes.skipped, "failed": self.of.lanes.failed,
                "class": {f"{graph} / {share}": rows for (graph, share), rows in self.of.rows.items()},
                "replayed": flat(self.of.replayed), "runs": flat(self.of.kept), "timed": flat(self.of.timed), "slow": flat(self.of.slow),
                "changing": flat(self.of.changing)}


def machine():
    model = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return {"cpu": model[0] if model else platform.machine(), "cores": len(os.sched_getaffinity(0)),
            "system": platform.platform()}


def text_of(figures):
    """The tables in words."""
    yield f"{figures['machine']['cores']} cores of {figures['machine']['cpu']}, {figures['date']}\n"
    yield ("| graph | start | runs | rows over the fewest | stall over the least | more, of a step | step, ms (of the best) "
           "| changes taken | of them wrong | not judged | agent's share of CPU |")
    yield "|" + " --- |" * 11
    for c in figures["starts"]:
        low, high = c["stall over, least and most"]
        yield (f"| {c['graph']} | {c['start']} | {c['runs']} | {c['rows over the fewest']:.3f} of `{c['fewest']}` "
               f"| {c['stall over the least']:.3f} ({low:.3f} to {high:.3f}) of `{c['least stall of']}` | {c['more, of a step']:+.2%} "
               f"| {c['step, ms']:.2f} ({c['step of the best, ms']:.2f}) | {c['changes taken']} | {len(c['wrong'])} "
               f"| {len(c['not judged'])} | {c['agent' + chr(39) + 's share of CPU']:.2%} |")
    for title, name in (("Wrong", "wrong"), ("Not judged", "not judged")):
        listed = [text for c in figures["starts"] for text in c[name]]
        yield f"\n{title}: {len(listed)}"
        yield from (f"- {text}" for text in listed)
    yield "\n| graph | start | link fallen: steps until within 5 % | later steps over the best | back: steps | later steps | noticed |"
    yield "|" + " --- |" * 7
    for c in figures["links"]:
        cells = []
        for where in ("fallen", "back"):
            near = c[where]["steps until near"]
            cells += [f"not in {c[where]['of']}" if near is None else str(near),
                      f"{c[where]['later steps over the best']:.3f} of `{c[where]['best']}`"]
        yield f"| {c['graph']} | {c['start']} | {' | '.join(cells)} | {c['noticed']} of {c['agents']} |"
    for name in ("skipped", "failed"):
        if figures[name]:
            yield f"\n{name}: " + "; ".join(figures[name])
