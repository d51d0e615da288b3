"""Documents are compressed before indexing only where that is asked for."""

from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import ImageNode

from ctx_core import TokenCounter
from llamaindex_ctx import ContextTransform

LOG = "\n".join([*(f"INFO tick {n} ok" for n in range(600)), "ERROR disk full on /data"])


async def test_a_pipeline_step_shortens_copies():
    document = Document(text=LOG, metadata={"file": "run.log"})
    pipeline = IngestionPipeline(transformations=[ContextTransform()], disable_cache=True)
    for nodes in (pipeline.run(documents=[document]), await pipeline.arun(documents=[document])):
        assert "ERROR disk full" in nodes[0].get_content()
        assert TokenCounter().count(nodes[0].get_content()) < 200
        assert nodes[0].id_ == document.id_
    assert document.text == LOG


def test_images_pass_and_settings_round_trip():
    image = ImageNode(image="aGVsbG8=")
    assert ContextTransform()([image]) == [image]
    assert ContextTransform.from_dict(ContextTransform(max_tokens=99).to_dict()).max_tokens == 99
