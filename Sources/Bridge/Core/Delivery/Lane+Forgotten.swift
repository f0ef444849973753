import Vocabulary

extension LaneBounds {
    /// How long a call may repeat its key: the relay knows it for a day (relay.md#rules), by a clock of its own.
    static let keyLife = Duration.seconds(86_400 - 60)
}

// Calls whose key the relay no longer knows. One that may have landed would be seen twice if it went again, so it is given up. Text and
// cards lose nothing that the end does not say; an open, an end and a message are dead letters.
extension Lane {
    /// The next call was tried a day ago, and may have landed then.
    func hasForgottenCall(at now: Instant) -> Bool {
        #if PLANTED_FAULTS
            if PlantedFault.staleKeySent.isPlanted { return false }
        #endif
        guard let tried = nextTried else { return false }
        return now - tried >= LaneBounds.keyLife
    }

    private var nextTried: Instant? {
        switch state {
        // A call that the relay refused each time has not landed: its key is as good as new.
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

    /// The interaction has ended for the lane, and with it every need of the bubble.
    mutating func leaveInteraction() -> [PostReport] {
        isWindowOpen = false
        end = .taken
        preview.stop()
        queue.leaveInteraction()
        return [.windowClosed]
    }
}
