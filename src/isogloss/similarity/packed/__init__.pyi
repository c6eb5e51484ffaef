from ._language import PackedLanguage as PackedLanguage
from ._language import PackedStorage as PackedStorage
from ._model import MANIFEST as MANIFEST
from ._model import PackedManifest as PackedManifest
from ._model import PackedSimilarity as PackedSimilarity
from ._model import load_model as load_model
from ._model import pack_model as pack_model
