"""A question as it is learned and judged: two messages, and every reply that is possible."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Question:
    """Two messages, the replies that are possible, and the place of the right one among them."""
    system: str
    user: str
    replies: tuple
    best: int
    costs: tuple = ()  # of the replies, where they are known
    keep: int = 0      # the place of the reply that changes nothing

    def gaps(self):
        """Each reply's cost over that of keeping, less 1."""
        keeping = max(self.costs[self.keep], 1e-9)
        return [cost / keeping - 1 for cost in self.costs]
