"""Processes that mpirun has started, with mpi4py."""

from . import _rudder
from ._errors import Error

_given = None


def use_mpi(communicator=None):
    """The processes are those of a communicator of mpi4py (default: ``MPI.COMM_WORLD``), instead of torchrun's.

    To be called on all of them before the first loader, store or run. MPI is taken as it is: the communicator is
    duplicated, so that messages of yours and ours never meet, and nothing is finalised. For builds with the same
    MPI as mpi4py's: the wheel has none.
    """
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise Error("mpi4py is not installed", "usage", "use_mpi", "install it, or start the processes with torchrun") from error
    communicator = MPI.COMM_WORLD if communicator is None else communicator
    _rudder.use_mpi(MPI._addressof(communicator), MPI.Get_library_version())
    global _given
    _given = communicator  # its address must stay
