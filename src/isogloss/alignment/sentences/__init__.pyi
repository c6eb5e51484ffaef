from ._align import SentenceOptions as SentenceOptions
from ._align import align_documents as align_documents
from ._align import align_sentences as align_sentences
from ._beads import Bead as Bead
from ._beads import SentenceAlignment as SentenceAlignment
