"""An LCEL chain whose retrieved documents and prompt are prepared before the model sees them.

Runs offline with a fake chat model; for a real one, put `model = init_chat_model("gpt-4o-mini")` in its place.
"""

from __future__ import annotations

from langchain_core.documents import Document
from langchain_core.messages import AIMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda

from ctx_core import ContextEngine, TokenCounter
from langchain_ctx import CompressedRetriever, ContextDocumentCompressor, ContextRunnable
from langchain_ctx.testing.fakes import FakeChatModel


def search(question: str) -> list[Document]:
    """Stand in for a vector store: return a log full of noise with one failure in it."""
    del question
    lines = [f"2026-03-02 01:{n // 60:02d}:{n % 60:02d} INFO copied block {n} in 12 ms" for n in range(900)]
    lines[700] = "2026-03-02 01:11:40 ERROR replica 3 refused block 700: no space left on device"
    return [Document(page_content="\n".join(lines), id="nightly.log", metadata={"job": "copy"})]


def main() -> None:
    """Ask a question, and print what the model was sent."""
    engine = ContextEngine()
    compressor = ContextDocumentCompressor(optimizer=engine.optimizer, max_tokens=400)
    retriever = CompressedRetriever(base_retriever=RunnableLambda(search), compressor=compressor)
    prompt = ChatPromptTemplate([("system", "Answer from the log.\n\n{log}"), ("human", "{question}")])
    model = FakeChatModel(script=[AIMessage("Replica 3 had no space left.")])

    inputs = {"log": retriever | (lambda documents: documents[0].page_content), "question": lambda question: question}
    chain = inputs | prompt | ContextRunnable(engine=engine, max_tokens=1000) | model
    answer = chain.invoke("Why did the copy fail?", {"configurable": {"user_id": "user-1"}})

    sent = model.prompts[0][0].text
    assert "no space left on device" in sent
    count = TokenCounter().count
    print(f"log: {count(search('')[0].page_content)} tokens; sent to the model: {count(sent)} tokens\n")
    print(sent)
    print(f"\nmodel: {answer.text}")


if __name__ == "__main__":
    main()
