package import Vocabulary

/// A turn of an earlier process whose record cannot be read: the plain columns of its journal row.
package struct UnreadableTurn: Sendable {
    package struct Call: Sendable {
        package var name: PostName
        package var key: IdempotencyKey
        package var isDelivered: Bool
        package var keptAt: Instant

        package init(name: PostName, key: IdempotencyKey, isDelivered: Bool, keptAt: Instant) {
            self.name = name
            self.key = key
            self.isDelivered = isDelivered
            self.keptAt = keptAt
        }
    }

    package var id: TurnID
    /// Nil if the place where the turn was shown is unknown.
    package var place: TurnPlace?
    /// Calls in the order they were stored, deltas included.
    package var calls: [Call]
    package var deltas: [StoredDelta]
    /// Nothing of the turn may go out in the open.
    package var isSealed = false

    package init(id: TurnID, place: TurnPlace?, calls: [Call] = [], deltas: [StoredDelta] = []) {
        self.id = id
        self.place = place
        self.calls = calls
        self.deltas = deltas
    }
}

extension Bridge {
    /// The bubble ends with what was streamed and a sentence; the calls stored for it go out unchanged. Then the turn is closed like
    /// any other, and its record goes. Nothing is sent to the agent: its part of the turn is unknown.
    package mutating func end(_ unreadable: UnreadableTurn, at now: Instant) {
        guard entries[unreadable.id] == nil else { return }
        guard let place = unreadable.place else { return orders.append(.turnClosed(unreadable.id, .gone)) }
        let opening = TurnOpening(
            id: unreadable.id, session: place.session, interaction: place.interaction, agentSession: AgentSession(""),
            run: RunID(""), message: nil, receivedAt: now, windowEnds: now + settings.window,
            sealing: unreadable.isSealed ? .sealed(nil) : .open)
        var turn = Turn(opening, settings: settings.turn)
        let lane = unreadable.lane(of: opening)
        delivery.restoreLane(lane, windowEnds: opening.windowEnds, at: now)
        let turnOrders = turn.endUnreadable(unreadable, at: now)
        entries[unreadable.id] = Entry(turn: turn)
        delivery.heldBeside += turn.heldBytes
        keeping.changed(unreadable.id)
        change(unreadable.id, at: now) { _ in turnOrders }
        deliver(at: now)
        keepChanged()
    }
}

extension UnreadableTurn {
    fileprivate var hasEnd: Bool { calls.contains { $0.name == .end } }
    /// The answer to the open call may be in the unreadable record: repeating the same call returns it.
    private var mustOpenAgain: Bool { place?.bubble == nil && !hasEnd }
    fileprivate var hasBubble: Bool { place?.bubble != nil || calls.contains { $0.name == .open } }

    fileprivate func lane(of opening: TurnOpening) -> LaneRecord {
        let address = LaneAddress(
            turn: opening.id, session: opening.session, interaction: opening.interaction, sealing: opening.sealing)
        let unanswered = calls.filter { call in
            switch call.name {
            // The end repeats the text, and the answer to an approval would have no owner.
            case .text, .approval: false
            case .open: !call.isDelivered || mustOpenAgain
            case .taskStarted, .taskProgress, .taskEnded, .end, .message: !call.isDelivered
            }
        }
        var lane = LaneRecord(
            address: address, message: place?.bubble, epoch: 1, deltas: deltas.count,
            streamed: deltas.last?.endOffset ?? 0,
            unanswered: unanswered.map {
                LaneRecord.UnansweredCall(name: $0.name, key: $0.key, triedAt: $0.keptAt)
            }, ended: hasEnd)
        lane.previewIsOver = true
        return lane
    }

    /// Cards that were shown and never finished.
    fileprivate var openTasks: [TaskID] {
        var open: [TaskID] = []
        for call in calls {
            if case .taskStarted(let task) = call.name { open.append(task) }
            if case .taskEnded(let task) = call.name { open.removeAll { $0 == task } }
        }
        return open
    }

    fileprivate var unconfirmed: Set<PostName> {
        Set(
            calls.filter { call in
                switch call.name {
                case .end, .message: !call.isDelivered
                case .open, .text, .taskStarted, .taskProgress, .taskEnded, .approval: false
                }
            }.map(\.name))
    }

    fileprivate var streamed: String { deltas.reduce(into: "") { $0 += $1.text ?? "" } }
}

extension Turn {
    fileprivate mutating func endUnreadable(_ unreadable: UnreadableTurn, at now: Instant) -> [TurnOrder] {
        agent.isFree = true
        guard !unreadable.hasEnd else {
            // The turn had ended: only stored posts are left to send.
            phase = .over(.lost)
            bubble.isOver = true
            outbox.unconfirmed = unreadable.unconfirmed
            return closeIfConfirmed()
        }
        _ = text.apply(.append(unreadable.streamed))
        preview.stop()
        // Neither carries a word, so both may go out of a sealed turn too.
        let tasks = unreadable.openTasks.map {
            TurnOrder.post(.taskEnded(TaskEnd(task: $0, status: .failed)))
        }
        guard unreadable.hasBubble || unreadable.calls.isEmpty else {
            // The turn came too late for a bubble, and went without one.
            bubble.isOver = true
            return [.closeWindow] + conclude(.lost, line: Sentences.unreadable, at: now)
        }
        // A message that was only accepted has no bubble yet.
        let open = unreadable.hasBubble ? [] : [post(.open)]
        return open + tasks + conclude(.lost, line: Sentences.unreadable, at: now)
    }
}
