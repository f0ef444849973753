package import AgentKit
package import Recording
package import Vocabulary

/// Speed of a replay.
package enum ReplaySpeed: Sendable, Hashable {
    case times(Int)
    /// The speed at which the file can be read.
    case unlimited
}

/// The person's side of a replay: opens interactions at the relay in question.
package protocol ReplayUser: Sendable {
    /// The user writes; returns the session, the interaction and the message, as the relay named them.
    func writes(_ text: String, in session: SessionID?) throws -> (SessionID, InteractionID?, MessageID)
    /// False if the decision must be passed to the bridge directly.
    func decides(_ approval: ApprovalID, _ decision: ApprovalDecision) -> Bool
    /// Sealing of the turns of this chat.
    func sealing(in session: SessionID) -> TurnSealing
}

extension ReplayUser {
    package func sealing(in session: SessionID) -> TurnSealing { .open }
}

/// Outcome of a replay.
package struct ReplaySummary: Sendable {
    package struct End: Sendable, Hashable {
        package var turn: TurnID
        package var interaction: InteractionID?
        package var session: SessionID
        package var outcome: String
    }

    package var frames = 0
    package var ends: [End] = []
    package var calls = 0
    package var deltas = 0
    package var joined = 0
    package var retries = 0
    package var refusals = 0
    package var deadLetters = 0
    package var unknown: [String: Int] = [:]
    package var malformed = 0
    package var seconds = 0.0
    /// Turns still open when the replay gave up waiting.
    package var leftOpen = 0
    package var connectionStopped: String?
}

extension AgentRegistry {
    /// The agent of a recording, by its header or its first frames.
    package func recognised(in file: String) throws(RecordingError) -> any AgentPlugin {
        try recognised(in: try RecordingReader(file: file), name: file)
    }

    package func recognised(in reader: RecordingReader, name file: String) throws(RecordingError) -> any AgentPlugin {
        let recognition = AgentRecognition(self)
        var seen = 0
        while let entry = try reader.next() {
            if let name = reader.header?.agent {
                guard let agent = self[kind: AgentKind(rawValue: name)] else {
                    throw unknown(file, "the header names \"\(name)\"")
                }
                return agent
            }
            guard entry.link == .agent else { continue }
            if let agent = recognition.agent(of: entry.frame, capacity: entry.capacity) { return agent }
            seen += 1
            if seen >= 200 { break }
        }
        guard seen > 0 else { throw RecordingError(.empty, file: file, "the file holds no frame of an agent") }
        throw unknown(file, "none of its first frames is of a known kind")
    }

    private func unknown(_ file: String, _ found: String) -> RecordingError {
        RecordingError(
            .unknownAgent, file: file,
            "which agent is this from? \(found); known are \(kindNames); say it with --agent"
        )
    }
}
