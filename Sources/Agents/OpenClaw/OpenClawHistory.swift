import AgentKit
import JSONReading
import Vocabulary

/// The state of one run by an answer to `chat.history`: whether it ended, and its
/// text (openclaw.md#chathistory, openclaw.md#disconnects).
enum OpenClawHistory {
    /// The message that began the run.
    struct Question {
        var run: RunID
        /// Text and time identify the message where the gateway stores no key with its rows.
        var text: String?
        var sentAtMilliseconds: Int64?
        var session: AgentSession?
        /// Earlier messages with the same words, recent enough that the rows found may be theirs.
        var earlier = 0
        /// Approvals that the run requested, and those of other runs: the name of a follow-up run contains its approval.
        var approvals: Set<ApprovalID> = []
        var otherApprovals: Set<ApprovalID> = []
    }

    /// The text of one assistant row.
    struct Piece: Hashable {
        var text: String
        var messageID: String?
        var isTruncated: Bool
        /// First words after the message by which the gateway resumes a run after a restart.
        var followsRestart = false
    }

    enum Course: Hashable {
        case running(text: String?)
        case over
        /// The gateway (E1 to E3) does not say, and rows alone do not tell a pause between tools from the end.
        case undecided
    }

    struct Finding {
        var course: Course
        var isQuestionThere = false
        var pieces: [Piece] = []
        var isAborted = false
        var includesFollowUp = false
        /// The last row ends a run.
        var isComplete = false
        /// Usage that the rows report (E3 and later).
        var usage: Usage?
        var reason = RunEnd.Reason.stop
        /// The last row gives a reason that ends no run, such as a tool call: a run that has ended broke off there.
        var isBroken: Bool { saysReason && !isComplete && failure == nil && notice == nil }
        /// The last row has a `stopReason`. Some gateways send none.
        var saysReason = false
        /// The vendor's words if the last row is a failed model call (empty if it has none), else nil.
        var failure: String?
        /// The gateway's own words that it could not resume the run after its restart.
        var notice: String?
        /// The gateway resumed the run after its restart.
        var isResumed = false
        /// Runs at work in the session, or nil if the gateway does not list them.
        var active: [RunID]?
        /// The gateway reports a run at work in the session, named or not.
        var isBusy = false
        /// The session's `status` is `running`: after a restart the gateway will resume its run or give it up.
        var isUnsettled = false
        /// No user's row follows the question.
        var isNewest = false
        /// Rows before the page are missing.
        var isCut = false
        /// The only user's row with the question's key is that of its acceptance.
        var isAcceptedOnly = false
        /// Another run at work began before the question, or alone may answer it.
        var waitsBehindAnother = false
        /// The follow-up that is at work although the run itself ended.
        var followUp: RunID?

        var hasText: Bool { pieces.contains { !$0.text.isEmpty } }

        /// Text of a run at work from its written messages, or nil if there is none, or one is truncated or failed.
        var soFar: String? {
            let said = pieces.map(\.text).filter { !$0.isEmpty }
            guard !said.isEmpty, failure == nil, !isResumed, !isCut, !pieces.contains(where: \.isTruncated) else {
                return nil
            }
            return said.joined(separator: "\n\n")
        }

        /// Replaces a truncated row by its full text.
        mutating func isHere(_ piece: Piece, at index: Int, reason: String?) {
            let followsRestart = pieces[index].followsRestart
            pieces[index] = piece
            pieces[index].followsRestart = followsRestart
            guard index == pieces.count - 1, !saysReason, let reason else { return }
            saysReason = true
            isComplete = reason != "error" && !OpenClawHistory.toolReasons.contains(reason)
        }

        /// The run's end; each row is a message of its own.
        var end: RunEnd {
            let rows = pieces.filter { !$0.text.isEmpty }.map {
                RunEnd.Row($0.text, beginsParagraph: true, followsRestart: $0.followsRestart)
            }
            var end = RunEnd(
                rows: rows, reason: isAborted ? .aborted : reason,
                truncated: isCut || pieces.contains(where: \.isTruncated),
                includesFollowUp: includesFollowUp)
            end.usage = usage
            return end
        }
    }

    static let cutMark = "...(truncated)..."
    static let omitted = "[chat.history omitted: message too large]"
    /// Early gateways do not report further rows, and return fewer than requested where rows are long.
    private static let fullPage = 200
    private static let wordless = "The agent run failed before producing a reply."
    /// How far the clocks of bridge and gateway may differ when text and time identify a row.
    static let clockTolerance: Int64 = 120_000

    static func finding(of question: Question, in payload: FrameNode?) -> Finding {
        var finding = Finding(course: course(of: question.run, in: payload))
        finding.followUp = followUp(of: question, in: payload)
        finding.active = active(in: payload)
        finding.isBusy = isBusy(payload)
        finding.isUnsettled = payload?["sessionInfo"]?["status"]?.holds("running") == true
        var mayBeFollowed = false
        var isAfterRestart = false
        let hasMore = hasMore(payload)
        for row in rows(of: question, in: payload?["messages"]?.elements ?? [], hasMore: hasMore, &finding) {
            let isFollowUp = name(row).map { RunID($0).isFollowUp } == true && name(row) != question.run.text
            // The owner of this follow-up is unknown: skip it while it may be at work
            // for another run, or if this run's approvals are known.
            let isStrange = isFollowUp && !isOurs(row, question)
            if isStrange, !question.approvals.isEmpty || !(mayBeFollowed || finding.includesFollowUp) { continue }
            // A run emits nothing after its end: later rows belong to a follow-up (openclaw.md#approvals).
            let beginsFollowUp = finding.isComplete && !finding.isAborted
            finding.isComplete = false
            if row["role"]?.holds("user") == true {
                // How the restart ended the attempt before it does not end the run.
                (isAfterRestart, finding.isAborted, finding.failure) = (true, false, nil)
            }
            guard row["role"]?.holds("assistant") == true else { continue }
            if let said = noticeOfRestart(row) {
                finding.notice = said
                continue
            }
            if isRefusal(row, question) { continue }
            // A failed attempt is no part of the answer.
            if finding.failure != nil { finding.pieces.removeAll() }
            let isOurAbort = key(row) == "\(question.run.text):assistant"
            let reason = row["stopReason"]?.string
            finding.saysReason = reason != nil
            let callsTool = reason.map { toolReasons.contains($0) } ?? false
            mayBeFollowed = !callsTool
            finding.reason = callsTool ? .stop : OpenClawUsage.reason(row)
            if let said = OpenClawUsage.read(row["usage"]) { finding.usage = finding.usage.map { $0 + said } ?? said }
            finding.failure = reason == "error" ? row["errorMessage"]?.string ?? "" : nil
            finding.isComplete = isOurAbort || (reason != nil && finding.failure == nil && !callsTool)
            var piece = piece(row["content"]?.contentText ?? "", row)
            // The gateway's placeholder for a failed attempt without words is no text.
            if finding.failure != nil, piece.text == wordless { piece.text = "" }
            // A stopped reply is written twice: by the gateway, and by the agent when it lets go.
            let isSecond = finding.isAborted && piece.text == finding.pieces.last?.text
            finding.isAborted = finding.isAborted || isOurAbort || reason == "aborted"
            if isSecond { continue }
            if isFollowUp || (beginsFollowUp && !question.run.isFollowUp) {
                finding.includesFollowUp = true
            }
            if isAfterRestart, !piece.text.isEmpty || piece.isTruncated {
                piece.followsRestart = true
                isAfterRestart = false
            }
            finding.pieces.append(piece)
        }
        finding.waitsBehindAnother = waitsBehindAnother(question, finding, payload?["messages"]?.elements ?? [])
        return finding
    }

    /// Whether rows before the page exist. After a restart E3 may say so although it returned as many rows as it counts.
    private static func hasMore(_ payload: FrameNode?) -> Bool {
        guard payload?["hasMore"]?.flag == true else { return false }
        let rows = payload?["messages"]?.elements.count ?? 0
        return payload?["totalMessages"]?.integer(in: .counts).map { $0 > rows } ?? true
    }

    /// The user's row before these words of the agent, or the newest user's row if `words` is nil or not found.
    static func prompt(before words: String?, in payload: FrameNode?) -> String? {
        let rows = payload?["messages"]?.elements ?? []
        let place = words.flatMap { words in
            rows.lastIndex {
                $0["role"]?.holds("assistant") == true && $0["content"]?.contentText?.trimmed == words.trimmed
            }
        }
        return rows[..<(place ?? rows.endIndex)].last { $0["role"]?.holds("user") == true }?["content"]?.contentText
    }

    /// Runs at work in the session, or nil if the gateway does not list them. E3 lists no run that took queued messages.
    static func active(in payload: FrameNode?) -> [RunID]? {
        guard let active = payload?["sessionInfo"]?["activeRunIds"], active.isArray,
            !active.elements.isEmpty || !isBusy(payload)
        else { return nil }
        return active.elements.compactMap { $0.string.map { RunID($0) } }
    }

    private static func isBusy(_ payload: FrameNode?) -> Bool {
        payload?["sessionInfo"]?["hasActiveRun"]?.flag == true
    }

    private static func waitsBehindAnother(_ question: Question, _ finding: Finding, _ rows: [FrameNode]) -> Bool {
        guard let active = finding.active, !active.contains(question.run) else { return false }
        func first(_ run: RunID) -> Int? {
            rows.firstIndex { $0["role"]?.holds("user") == true && asker($0) == run.text }
        }
        let isAnswered = finding.isComplete && finding.hasText
        if isAnswered, rows.contains(where: { name($0) == question.run.text }) { return false }
        let ours = first(question.run)
        return active.contains { other in
            if other.isFollowUp { return false }
            guard let theirs = first(other) else { return !isAnswered }
            return ours.map { theirs < $0 } ?? true
        }
    }

    /// The text of a row, from a page or fetched in full.
    static func piece(_ text: String, _ row: FrameNode) -> Piece {
        let isOmitted = text == omitted
        return Piece(
            text: isOmitted ? "" : AgentFiles.named(in: text.trimmed), messageID: row["__openclaw"]?["id"]?.string,
            isTruncated: isOmitted || text.hasSuffix(cutMark) || row["__openclaw"]?["truncated"]?.flag == true)
    }

    /// Whether the row is `whole` up to where the gateway truncated it.
    static func isCut(_ row: String, of whole: String) -> Bool {
        let said = row.hasSuffix(cutMark) ? String(row.dropLast(cutMark.count)) : row
        return whole.trimmed.hasPrefix(said.trimmed)
    }

    fileprivate static let toolReasons: Set<String> = ["toolUse", "tool_use", "tool_call", "tool_calls", "toolCalls"]

    private static func course(of run: RunID, in payload: FrameNode?) -> Course {
        let running = payload?["inFlightRun"]
        let active = payload?["sessionInfo"]?["activeRunIds"]
        if running?["runId"]?.equals(run.text) == true { return .running(text: running?["text"]?.string) }
        if let active, active.isArray, !active.elements.isEmpty || !isBusy(payload) {
            return active.elements.contains { $0.equals(run.text) } ? .running(text: nil) : .over
        }
        return payload?["sessionInfo"]?["hasActiveRun"]?.flag == false ? .over : .undecided
    }

    /// A follow-up at work although the run itself ended.
    private static func followUp(of question: Question, in payload: FrameNode?) -> RunID? {
        let running = payload?["inFlightRun"]
        let active = payload?["sessionInfo"]?["activeRunIds"]?.elements.compactMap(\.string) ?? []
        let named = (running?["runId"]?.string).map { [$0] } ?? []
        guard !(named + active).contains(question.run.text),
            let next = (named + active).first(where: { asks($0, question.approvals) })
        else { return nil }
        return RunID(next)
    }

    /// Rows that name the run or a follow-up of it, in any position, and rows without a name from the question up to
    /// the next user's row. They include the message by which the gateway resumes a run after a restart.
    private static func rows(
        of question: Question, in rows: [FrameNode], hasMore: Bool, _ finding: inout Finding
    ) -> [FrameNode] {
        // The message by which the gateway resumes a run does not end its answer.
        func isUser(_ row: FrameNode) -> Bool {
            row["role"]?.holds("user") == true && !isInterruption(row) && !isInstruction(row)
        }
        func lastUnkeyed(_ same: [Int]) -> Int? { same.count > question.earlier ? same.last : nil }
        let start =
            rows.lastIndex { isUser($0) && asker($0) == question.run.text }
            ?? lastUnkeyed(
                rows.indices.filter { isUser(rows[$0]) && key(rows[$0]) == nil && isSame(rows[$0], question) })
        guard let start else {
            if hasMore || rows.count >= fullPage, !rows.contains(where: isUser) {
                // The question is older than the page: every row is part of its answer, and the beginning is missing.
                (finding.isQuestionThere, finding.isNewest, finding.isCut) = (true, true, true)
                return rows
            }
            // The run that resumes after a restart may remove the question's row from the history (E3).
            if !rows.contains(where: isUser), rows.contains(where: isInterruption) {
                (finding.isQuestionThere, finding.isNewest) = (true, true)
                return rows
            }
            let named = rows.filter { !isUser($0) && isOurs($0, question) }
            finding.isQuestionThere = !named.isEmpty
            return named
        }
        finding.isQuestionThere = true
        finding.isAcceptedOnly = rows.count { isUser($0) && asker($0) == question.run.text } == 1
        let later = rows[(start + 1)...]
        let next = later.firstIndex(where: isUser) ?? later.endIndex
        finding.isNewest = next == later.endIndex
        finding.isResumed = later[..<next].contains(where: isInterruption)
        let asked = Set(rows.filter(isUser).compactMap(asker))
        return later.indices.filter { index in
            let row = later[index]
            if row["role"]?.holds("user") == true { return index < next && isInterruption(row) }
            if isOurs(row, question) { return true }
            guard index < next else { return false }
            return name(row).map { !asked.contains($0) && !asks($0, question.otherApprovals) } ?? true
        }.map { later[$0] }
    }

    private static func isOurs(_ row: FrameNode, _ question: Question) -> Bool {
        if key(row) == "\(question.run.text):assistant" { return true }
        guard let name = name(row) else { return false }
        return name == question.run.text || asks(name, question.approvals)
    }

    /// The run of a row, where the gateway names it.
    private static func name(_ row: FrameNode) -> String? { row["__openclaw"]?["runId"]?.string }

    private static func asks(_ run: String, _ approvals: Set<ApprovalID>) -> Bool {
        RunID(run).isFollowUp && approvals.contains { RunID(run).follows($0) }
    }

    private static func isSame(_ row: FrameNode, _ question: Question) -> Bool {
        guard let asked = question.text, let said = row["content"]?.contentText else { return false }
        guard AskedPrompt.holds(said, asked) else { return false }
        guard let time = row["timestamp"]?.integer(in: .wallMilliseconds), let sent = question.sentAtMilliseconds else {
            return true
        }
        return Int64(time) >= sent - clockTolerance
    }

    /// The run that a user's message began: its key is the run's, in E3 with a suffix.
    static func asker(_ row: FrameNode) -> String? {
        guard let key = key(row) else { return nil }
        return key.hasSuffix(":user") ? String(key.dropLast(5)) : key
    }

    /// Whether the row is the message by which the gateway resumes a run after its restart (openclaw.md#disconnects).
    static func isInterruption(_ row: FrameNode) -> Bool {
        row["content"]?.contentText?.contains(interruption) == true
    }

    /// Whether the row is the gateway's reminder after an attempt that only
    /// planned; the next attempt belongs to the same run (E2).
    private static func isInstruction(_ row: FrameNode) -> Bool {
        row["content"]?.contentText?.contains(instruction) == true
    }

    private static let instruction = "The previous assistant turn only described the plan. Do not restate the plan."
    private static let interruption = "[System] Your previous turn was interrupted by a gateway restart"

    /// The gateway's words that it could not resume the run, or nil for any other row.
    static func noticeOfRestart(_ row: FrameNode) -> String? {
        guard key(row)?.hasPrefix("main-session-restart-recovery:") == true else { return nil }
        return row["content"]?.contentText
    }

    /// Whether the row is the gateway's own answer to a message that it refuses to run (E3).
    private static func isRefusal(_ row: FrameNode, _ question: Question) -> Bool {
        key(row) == question.run.text && row["content"]?.contentText?.contains("Gateway is restarting") == true
    }

    /// The row's key. Collected messages share a row whose key belongs to none of them.
    private static func key(_ row: FrameNode) -> String? {
        guard let key = (row["__openclaw"]?["idempotencyKey"] ?? row["idempotencyKey"])?.string else { return nil }
        return key.hasPrefix("followup-collect:") ? nil : key
    }
}
