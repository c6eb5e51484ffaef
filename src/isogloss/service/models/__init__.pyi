from ._comparison import Comparing as Comparing
from ._comparison import topic_answer as topic_answer
from ._registry import Models as Models
from ._registry import settle as settle
from ._similarity import IN_STORE as IN_STORE
from ._similarity import Similarity as Similarity
from ._similarity import agreed_model as agreed_model
