from ._coherence import Coherence as Coherence
from ._coherence import completion_perplexity as completion_perplexity
from ._coherence import topic_coherence as topic_coherence
from ._lda import LatentDirichletAllocation as LatentDirichletAllocation
from ._parameters import TopicParameters as TopicParameters
from ._polylingual import PolylingualTopicModel as PolylingualTopicModel
