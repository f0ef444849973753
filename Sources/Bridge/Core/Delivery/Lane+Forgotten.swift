import Vocabulary

extension LaneBounds {
    /// How long a call may be sent again under its key: the relay knows it for a day (relay.md#rules), by a clock of its own.
    static let keyLife = Duration.seconds(86_400 - 60)
}

// Calls whose key the relay no longer knows. What may have landed and is sent again would be seen twice, so it is given up: of
// text and cards nothing is lost that the end does not say; an open, an end and a message are dead letters.
extension Lane {
    /// The call that would be sent next was tried a day ago, and may have landed then.
    func hasForgottenCall(at now: Instant) -> Bool {
        #if PLANTED_FAULTS
            if PlantedFault.staleKeySent.isPlanted { return false }
        #endif
        guard let tried = nextTried else { return false }
        return now - tried >= LaneBounds.keyLife
    }

    private var nextTried: Instant? {
        switch state {
        // One that the relay said no to each time is not there: its key is as good as new.
        case .resting(let call, _): call.tried.mayHaveLanded ? call.firstTried : nil
        case .idle: queue.firstStored?.triedAt
        case .underWay, .refused, .gone: nil
        }
    }

    mutating func giveUpForgotten(at now: Instant) -> [PostReport] {
        var reports: [PostReport] = []
        while hasForgottenCall(at: now) {
            guard let name = frozen?.name ?? queue.firstStored?.name else { break }
            if case .resting = state {
                state = .idle
            } else if queue.removeFirst()?.kind == .end {
                end.leave()
            }
            switch name {
            case .text: stopPreview()
            case .taskProgress: break
            case .taskStarted, .taskEnded, .end, .message, .approval: reports.append(.deadLetter(name))
            case .open:
                // Whether the bubble exists is unknown: untried posts go out as messages.
                bubble = .lost
                reports += leaveInteraction()
            }
            if isAbandoned { state = .gone }
        }
        return reports
    }

    /// Nothing may carry the interaction any more, and nothing needs the bubble.
    mutating func leaveInteraction() -> [PostReport] {
        isWindowOpen = false
        end = .taken
        preview.stop()
        queue.leaveInteraction()
        return [.windowClosed]
    }
}
