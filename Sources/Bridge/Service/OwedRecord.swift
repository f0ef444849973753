import BridgeCore
import Vocabulary

/// Journal record of a Stop's obligation to the agent: a setting of its own, because the turn may be closed by then.
enum OwedRecord {
    private static let version = 1
    private static let prefix = "owed:"

    private struct Content: Codable {
        var version: Int
        /// When the obligation began, in milliseconds since 1970.
        var since: Int64
        var session: String?
        var run: String?
        var approval: String?
        var subject: String?
        /// True if the stop is no person's, and ends no run of another client. Nil in a record of an earlier version, which does not tell.
        var ownRunsAlone: Bool?
    }

    static func entry(of obligation: Obligation, wall: Int64) -> JournalEntry {
        var content = Content(version: version, since: wall)
        switch obligation {
        case .abort(let session, let run, let reach):
            (content.session, content.run) = (session.text, run.text)
            if reach == .ownRuns { content.ownRunsAlone = true }
        case .deny(let approval, let subject): (content.approval, content.subject) = (approval.text, subject.rawValue)
        }
        return .setting(name: prefix + obligation.name, value: SettingRecord.bytes(of: content))
    }

    /// Deletes the record, once the agent has answered.
    static func entry(of obligation: Obligation) -> JournalEntry {
        .setting(name: prefix + obligation.name, value: nil)
    }

    /// Nil if the setting is another one, or its record cannot be read.
    static func obligation(
        name: String, value: [UInt8], now: Instant, wall: Int64
    ) -> (obligation: Obligation, since: Instant)? {
        guard name.hasPrefix(prefix), let content = SettingRecord.read(Content.self, value),
            content.version <= version
        else { return nil }
        // A wall clock that was set back says nothing about the age.
        let age = wall.subtractingReportingOverflow(content.since)
        let since = now - .milliseconds(age.overflow ? 0 : min(max(age.partialValue, 0), 7 * 86_400_000))
        if let session = content.session, let run = content.run {
            let reach = content.ownRunsAlone == true ? StopReach.ownRuns : .everyRun
            return (.abort(session: AgentSession(session), run: RunID(run), reach: reach), since)
        }
        guard let approval = content.approval,
            let subject = content.subject.flatMap({ ApprovalRequest.Subject(rawValue: $0) })
        else { return nil }
        return (.deny(ApprovalID(approval), subject), since)
    }
}
