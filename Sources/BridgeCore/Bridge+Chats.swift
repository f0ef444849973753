package import BridgeModel

// What a chat knows beyond its turns, and turns of runs that the bridge did not begin.
extension Bridge {
    /// A mirrored run that began before this process did; `turnBegins` came before.
    package mutating func beganUnseen(_ turn: TurnID, at now: Instant) {
        change(turn, at: now) { $0.beganUnseen(at: now) }
    }

    /// The person deleted or archived the chat. `coming`: names of messages of it that have no turn yet.
    package mutating func ended(
        session: SessionID, isDeleted: Bool, coming: [InteractionID] = [], at now: Instant
    ) {
        for name in coming {
            chats.stops.add(
                name, isDeleted ? .chatDeleted : .pressed, at: now, memory: settings.stopMemory)
        }
        let known = entries.values.filter { $0.turn.opening.session == session }.map(\.turn.opening)
        // The youngest first, so that stopping the active one does not hand a waiting one over.
        for opening in known.sorted(by: { $0.receivedAt > $1.receivedAt }) {
            change(opening.id, at: now) { $0.chatEnded(isDeleted: isDeleted, at: now) }
        }
        chats.homes.forget(session)
        deliver(at: now)
        keepChanged(.synced)
    }

    mutating func tellsModel(of id: TurnID) -> Bool {
        guard let message = entries[id]?.turn.opening.message else { return false }
        let isNews = chats.isNews(message.model, in: message.session)
        return isNews
    }
}
