"""Encoders from a folder: tiny models that the tests make, named in Python and settings, and broken ones."""

import json
import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone

from isogloss import io
from isogloss.events import EventStream
from isogloss.events.checkpoint import restore_stream, save_stream
from isogloss.events.ingest import sample_news
from isogloss.exceptions import ModelFileError
from isogloss.service.settings import StreamSettings
from isogloss.similarity import (
    Encoder,
    EncoderSimilarity,
    LocalEncoder,
    UniversalEncoder,
    installed_encoder,
    open_encoder,
)

WORDS = ("[UNK]", "[CLS]", "ship", "storm", "schiff", "sturm", "bank", "a", "the")
ROWS = np.random.default_rng(0).normal(size=(len(WORDS), 6)).astype(np.float32)
TEXTS = ["the ship", "storm bank a", "ship " * 40, "sturm"]


def tokeniser(first="[CLS]"):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="[UNK]")
    )
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    if first:
        made.post_processor = tokenizers.processors.TemplateProcessing(
            single=f"{first} $A", special_tokens=[(first, WORDS.index(first))]
        )
    return made


def model2vec_folder(folder, rows=ROWS):
    library = pytest.importorskip("model2vec")
    library.StaticModel(rows, tokeniser(first=""), config={"model_type": "model2vec"}).save_pretrained(folder)
    return folder


def onnx_folder(folder, rows=ROWS, *, pooled=False, inputs=("input_ids", "attention_mask")):
    """Write a graph that looks up the vectors of tokens, and takes their mean if it is to pool."""
    onnx = pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    helper, kinds = onnx.helper, onnx.TensorProto
    nodes = [helper.make_node("Gather", ["rows", "input_ids"], ["tokens"])]
    output = helper.make_tensor_value_info("tokens", kinds.FLOAT, ["batch", "length", 6])
    if pooled:
        nodes.append(helper.make_node("ReduceMean", ["tokens", "axes"], ["text"], keepdims=0))
        output = helper.make_tensor_value_info("text", kinds.FLOAT, ["batch", 6])
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(name, kinds.INT64, ["batch", "length"]) for name in inputs],
        [output],
        [
            onnx.numpy_helper.from_array(rows, "rows"),
            onnx.numpy_helper.from_array(np.array([1]), "axes"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    folder.mkdir(parents=True, exist_ok=True)
    onnx.save(model, folder / "model.onnx")
    tokeniser().save(str(folder / "tokenizer.json"))
    return folder


def sentence_transformers_folder(folder):
    torch = pytest.importorskip("torch", reason="needs the extra isogloss[sentence-transformers]")
    library = pytest.importorskip(
        "sentence_transformers", reason="needs the extra isogloss[sentence-transformers]"
    )
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=len(WORDS), hidden_size=6, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=8, max_position_embeddings=32,
    )  # fmt: skip
    bert = folder.parent / "bert"
    transformers.BertModel(config).save_pretrained(bert)
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokeniser(), unk_token="[UNK]", cls_token="[CLS]", pad_token="[UNK]",
        model_max_length=32,
    ).save_pretrained(bert)  # fmt: skip
    # A folder of transformers without modules.json gets a mean of its tokens.
    library.SentenceTransformer(str(bert), device="cpu").save(str(folder))
    return folder


MAKERS = {
    "model2vec": model2vec_folder,
    "onnx": onnx_folder,
    "sentence-transformers": sentence_transformers_folder,
}


@pytest.fixture(params=MAKERS)
def named(request, tmp_path):
    return request.param, MAKERS[request.param](tmp_path / "model")


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_a_folder_is_recognised_and_encodes_as_if_alone(named):
    kind, folder = named
    encoder = open_encoder(str(folder))
    assert isinstance(encoder, Encoder)
    assert (encoder.dimension, encoder.languages) == (6, None)
    together = encoder.encode(TEXTS, "en")
    assert (together.shape, together.dtype) == ((4, 6), np.float32)
    alone = [encoder.encode([text], "en")[0] for text in TEXTS]
    assert together.tobytes() == np.array(alone).tobytes()
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)
    assert together.tobytes() == open_encoder(f"{kind}:{folder}").encode(TEXTS, "en").tobytes()
    assert encoder.encode([], "en").shape == (0, 6)


def test_languages_are_part_of_the_name(named):
    kind, folder = named
    encoder = open_encoder(f"{kind}:{folder}?languages=en, de")
    assert encoder.languages == ("en", "de")
    with pytest.raises(ValueError, match="does not know the language 'sl'"):
        EncoderSimilarity(encoder).project(["ship"], "sl")
    with pytest.raises(ValueError, match="'qqq' is not known"):
        open_encoder(f"{kind}:{folder}?languages=qqq")


def test_an_encoder_travels_without_its_weights(named, tmp_path):
    encoder = open_encoder(f"{named[1]}?languages=en")
    vectors = encoder.encode(TEXTS, "en")
    io.save(EncoderSimilarity(encoder), tmp_path / "m.isogloss")
    again = io.load(tmp_path / "m.isogloss").encoder
    for other in (again, clone(encoder), pickle.loads(pickle.dumps(encoder))):
        assert other.languages == ("en",)
        assert other.encode(TEXTS, "en").tobytes() == vectors.tobytes()
    assert len(pickle.dumps(encoder)) < 1000


def test_vectors_of_model2vec_are_means_of_tokens(tmp_path):
    encoder = open_encoder(str(model2vec_folder(tmp_path / "m")))
    ship, the = ROWS[WORDS.index("ship")], ROWS[WORDS.index("the")]
    np.testing.assert_allclose(encoder.encode(["The ship"], "en"), [unit(ship + the)], rtol=1e-5)


@pytest.mark.parametrize("pooled", [False, True])
def test_vectors_of_onnx_are_pooled_by_the_graph_or_here(pooled, tmp_path):
    encoder = open_encoder(str(onnx_folder(tmp_path / "m", pooled=pooled)))
    mean = unit(ROWS[[WORDS.index(word) for word in ("[CLS]", "the", "ship")]].mean(axis=0))
    np.testing.assert_allclose(encoder.encode(["the ship"], "en"), [mean], rtol=1e-5)


def test_the_pooling_of_onnx_is_read_from_the_folder(tmp_path):
    folder = onnx_folder(tmp_path / "m")
    (folder / "1_Pooling").mkdir()
    place = folder / "1_Pooling" / "config.json"
    place.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    found = LocalEncoder(str(folder)).encode(["the ship"], "en")
    np.testing.assert_allclose(found, [unit(ROWS[WORDS.index("[CLS]")])], rtol=1e-5)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"1_Pooling/config.json": {"pooling_mode_max_tokens": True}}, "max_tokens; expected mean_tokens"),
        ({"modules.json": [{"type": "sentence_transformers.models.Dense"}]}, "has a Dense layer"),
    ],
)
def test_what_onnx_cannot_pool_is_refused(files, said, tmp_path):
    folder = onnx_folder(tmp_path / "m")
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(content))
    with pytest.raises(ModelFileError, match=said):
        open_encoder(f"onnx:{folder}")


def test_a_long_text_is_truncated_at_the_limit_of_the_model(tmp_path):
    folder = onnx_folder(tmp_path / "onnx" / "m")
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 4}')
    encoder = open_encoder(str(folder))
    short, long = encoder.encode(["ship ship ship", "ship ship ship bank bank"], "en")
    assert short.tobytes() == long.tobytes()
    static = open_encoder(str(model2vec_folder(tmp_path / "m2v")))
    short, long = static.encode(["ship " * 512, "ship " * 512 + "bank " * 9000], "en")
    assert short.tobytes() == long.tobytes()


def test_nothing_is_downloaded(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for kind in ("", *(f"{kind}:" for kind in MAKERS)):
        with pytest.raises(ModelFileError, match="'minishlab/potion': not a folder on disk"):
            open_encoder(f"{kind}minishlab/potion")


@pytest.mark.parametrize("kind", ["model2vec", "onnx"])
def test_models_that_give_no_numbers_are_refused(kind, tmp_path):
    folder = MAKERS[kind](tmp_path / "m", np.full_like(ROWS, np.nan))
    with pytest.raises(ModelFileError, match="not finite for a text; expected one vector of finite"):
        open_encoder(str(folder))


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("model2vec", "model.safetensors", "model2vec cannot load it"),
        ("model2vec", "tokenizer.json", "model2vec cannot load it"),
        ("onnx", "model.onnx", "onnx cannot load it"),
        ("onnx", "tokenizer.json", "onnx cannot load it"),
    ],
)
def test_broken_and_missing_files_are_reported(kind, name, said, tmp_path):
    folder = MAKERS[kind](tmp_path / "m")
    (folder / name).write_bytes(b"\x00garbage")
    with pytest.raises(ModelFileError, match=said):
        open_encoder(f"{kind}:{folder}")
    (folder / name).unlink()
    with pytest.raises(ModelFileError, match=r"cannot load it|has no tokenizer|has neither model.onnx"):
        open_encoder(f"{kind}:{folder}")


def test_folders_and_graphs_of_another_kind_are_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"holds no model; expected modules\.json"):
        open_encoder(str(tmp_path))
    folder = onnx_folder(tmp_path / "m", inputs=("input_ids", "pixel_values"))
    with pytest.raises(ModelFileError, match="the graph needs pixel_values; expected input_ids"):
        open_encoder(str(folder))


def test_a_missing_library_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    (tmp_path / "model.onnx").touch()
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'isogloss\[onnx\]'"):
        open_encoder(str(tmp_path))


def test_the_environment_names_the_default(tmp_path, monkeypatch):
    folder = model2vec_folder(tmp_path / "m")
    monkeypatch.setenv("ISOGLOSS_ENCODER", f"model2vec:{folder}")
    assert installed_encoder().path == str(folder)
    assert EventStream().encoder.kind == "model2vec"
    monkeypatch.setenv("ISOGLOSS_ENCODER", str(tmp_path / "other"))
    with pytest.raises(ModelFileError, match="not a folder on disk"):
        EventStream()


def test_settings_take_a_switch_or_a_name():
    names = [StreamSettings(encoder=given).encoder_name for given in (True, False, "onnx:m")]
    assert names == ["auto", "off", "onnx:m"]
    assert [open_encoder(name) for name in ("off", "OFF")] == [None, None]


def test_a_stream_takes_a_name_and_refuses_another_dimension_later(tmp_path):
    folder = model2vec_folder(tmp_path / "m")
    with EventStream(encoder=f"{folder}?languages=en,de") as stream:
        stream.add(sample_news().articles[:40])
        saved = save_stream(stream)
    known = {one.lang for one in stream.links.articles.values() if one.embedding is not None}
    assert known == {"en", "de"}
    assert save_stream(restore_stream(saved, encoder=str(folder))) == saved
    with pytest.raises(ModelFileError, match="embeddings of 6 dimensions, and the encoder gives 512"):
        restore_stream(saved, encoder=UniversalEncoder())
