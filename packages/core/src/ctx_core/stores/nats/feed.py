"""A durable pull consumer on the log, and the dead letters of its workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import nats.js.errors
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy

from ctx_core.kernel.projection import CONSUMER
from ctx_core.kernel.worker import DeadLetter, Delivery, Lag
from ctx_core.stores.nats.connection import NatsConnection, names_of
from ctx_core.stores.nats.subjects import token

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from nats.aio.msg import Msg
    from nats.js.client import JetStreamContext

_ACK_WAIT_SECONDS: Final = 30
_MAX_UNSETTLED: Final = 5_000
_LONGEST_REASON: Final = 1_000


class NatsFeed:
    """Hands out the log through one durable consumer that all workers of the same name share."""

    def __init__(
        self, connection: NatsConnection, *, consumer: str = CONSUMER, ack_wait_seconds: float = _ACK_WAIT_SECONDS
    ) -> None:
        self._connection = connection
        self._names = names_of(connection)
        self._durable = token(consumer)
        self._ack_wait_seconds = ack_wait_seconds
        self._subscription: JetStreamContext.PullSubscription | None = None
        self._dead_subject = self._names.dead(consumer)
        connection.ensure_stream(self._names.event_stream, subjects=self._names.all_events)
        connection.ensure_stream(self._names.dead_stream, subjects=f"{self._names.prefix}.dead.>")
        connection.run(self._ensure_consumer)

    def fetch(self, limit: int, *, timeout_seconds: float) -> list[Delivery]:
        """Return up to `limit` events, waiting for the first one."""

        async def fetch(stream: JetStreamContext) -> list[Msg]:
            # One subscription for as long as its connection lives: what is on its way to a closed one comes late.
            subscription, self._subscription = self._subscription, None
            if subscription is None:
                subscription = await stream.pull_subscribe_bind(self._durable, self._names.event_stream)
            try:
                messages = await subscription.fetch(limit, timeout=timeout_seconds)
            except TimeoutError:  # also the base of what nats-py raises when nothing came
                messages = []
            self._subscription = subscription
            return messages

        return [_delivery(message) for message in self._connection.run(fetch)]

    def settle(self, deliveries: Sequence[Delivery]) -> None:
        """Note that events are through."""
        self._each(deliveries, lambda message: message.ack())

    def hold(self, deliveries: Sequence[Delivery]) -> None:
        """Ask for more time."""
        self._each(deliveries, lambda message: message.in_progress())

    def retry(self, delivery: Delivery, *, delay_seconds: float) -> None:
        """Hand an event out again, later."""
        self._each([delivery], lambda message: message.nak(delay=delay_seconds))

    def bury(self, delivery: Delivery, *, reason: str) -> None:
        """Publish an event to the dead letters, and settle it once it is there."""
        headers = {
            # A worker that dies between the two steps buries the event again, under the same id.
            "Nats-Msg-Id": f"{self._durable}-{delivery.position}",
            "Ctx-Reason": " ".join(reason.split())[:_LONGEST_REASON],
            "Ctx-Position": str(delivery.position),
            "Ctx-Attempts": str(delivery.attempt),
        }

        async def bury(stream: JetStreamContext) -> None:
            await stream.publish(self._dead_subject, delivery.body, headers=headers, stream=self._names.dead_stream)
            await cast("Msg", delivery.handle).term()

        self._connection.run(bury)

    def lag(self) -> Lag:
        """Return how far the consumer is behind."""
        info = self._connection.run(lambda stream: stream.consumer_info(self._names.event_stream, self._durable))
        return Lag(waiting=info.num_pending or 0, unsettled=info.num_ack_pending or 0)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    async def _ensure_consumer(self, stream: JetStreamContext) -> None:
        config = ConsumerConfig(
            durable_name=self._durable,
            filter_subject=self._names.all_events,
            deliver_policy=DeliverPolicy.ALL,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=self._ack_wait_seconds,
            # The worker bounds the attempts itself: the server would drop an event without a word.
            max_deliver=-1,
            max_ack_pending=_MAX_UNSETTLED,
        )
        try:
            await stream.consumer_info(self._names.event_stream, self._durable)
        except nats.js.errors.NotFoundError:
            await stream.add_consumer(self._names.event_stream, config)

    def _each(self, deliveries: Sequence[Delivery], settle: Callable[[Msg], Awaitable[None]]) -> None:
        async def settle_all(_: JetStreamContext) -> None:
            for delivery in deliveries:
                await settle(cast("Msg", delivery.handle))

        self._connection.run(settle_all)


class NatsDeadLetters:
    """The dead letters of one consumer, in a stream of their own."""

    def __init__(self, connection: NatsConnection, *, consumer: str = CONSUMER) -> None:
        self._connection = connection
        self._names = names_of(connection)
        self._subject = self._names.dead(consumer)
        connection.ensure_stream(self._names.dead_stream, subjects=f"{self._names.prefix}.dead.>")

    def letters(self) -> list[DeadLetter]:
        """Return all letters, oldest first."""
        return self._connection.run(self._read)

    def discard(self, letter: DeadLetter) -> None:
        """Remove a letter."""
        self._connection.run(lambda stream: stream.delete_msg(self._names.dead_stream, letter.letter_id))

    async def _read(self, stream: JetStreamContext) -> list[DeadLetter]:
        config = ConsumerConfig(ack_policy=AckPolicy.NONE, inactive_threshold=30, mem_storage=True)
        subscription = await stream.pull_subscribe(self._subject, stream=self._names.dead_stream, config=config)
        letters: list[DeadLetter] = []
        try:
            waiting = (await subscription.consumer_info()).num_pending or 0
            while len(letters) < waiting:
                letters += [_letter(message) for message in await subscription.fetch(waiting - len(letters), timeout=5)]
        finally:
            await subscription.unsubscribe()
        return letters


def _delivery(message: Msg) -> Delivery:
    metadata = message.metadata
    return Delivery(
        position=metadata.sequence.stream, body=message.data, attempt=metadata.num_delivered, handle=message
    )


def _letter(message: Msg) -> DeadLetter:
    headers: dict[str, Any] = message.headers or {}
    return DeadLetter(
        letter_id=message.metadata.sequence.stream,
        position=int(headers.get("Ctx-Position", 0)),
        reason=headers.get("Ctx-Reason", ""),
        attempts=int(headers.get("Ctx-Attempts", 1)),
        buried_at=message.metadata.timestamp,
        body=message.data,
    )
