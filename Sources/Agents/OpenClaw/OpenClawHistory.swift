import AgentKit
import JSONReading
import Vocabulary

/// What a `chat.history` answer says of one run (openclaw.md#chathistory, openclaw.md#disconnects): is it over, and what is its text.
enum OpenClawHistory {
    /// What is known of the message that began the run.
    struct Question {
        var run: RunID
        /// Where the gateway keeps no key with its rows, the message is known by its text and time.
        var text: String?
        var sentAtMilliseconds: Int64?
        var session: AgentSession?
        /// Messages of the same words that came before it, so shortly that their rows may be meant.
        var earlier = 0
        /// Approvals that the run asked for, and those of other runs: the rows of a follow-up are known by the approval in its name.
        var approvals: Set<ApprovalID> = []
        var otherApprovals: Set<ApprovalID> = []
    }

    /// The text of one row of the assistant.
    struct Piece: Hashable {
        var text: String
        var messageID: String?
        var isTruncated: Bool
        /// The first words behind what the gateway tells the agent when it goes on after a restart.
        var followsRestart = false
    }

    enum Course: Hashable {
        case running(text: String?)
        case over
        /// The gateway (E1 to E3) does not say; the rows alone do not distinguish a pause between tools from the end.
        case undecided
    }

    struct Finding {
        var course: Course
        var isQuestionThere = false
        var pieces: [Piece] = []
        var isAborted = false
        var includesFollowUp = false
        /// The last row is the end of a run.
        var isComplete = false
        /// Of the rows that say it (E3 and later).
        var usage: Usage?
        var reason = RunEnd.Reason.stop
        /// The run has ended, and its last row is incomplete.
        var isBroken: Bool { saysReason && !isComplete && failure == nil && notice == nil }
        /// The last row says why it ends; some gateways say it of none.
        var saysReason = false
        /// The last row is that of a model call that failed, with the vendor's words; empty where it has none.
        var failure: String?
        /// The gateway's own words that it could not go on with the run after its restart.
        var notice: String?
        /// The gateway went on with the run after its restart, by itself.
        var isResumed = false
        /// Runs that go on in the session; nil: the gateway does not say it.
        var active: [RunID]?
        /// The gateway says that some run goes on in the session, whether or not it names it.
        var isBusy = false
        /// A run of the session has no end yet, whether or not it goes on: after a restart the gateway will go on with it, or give it up.
        var isUnsettled = false
        /// No user's row comes after the question.
        var isNewest = false
        /// Rows before the page were left out.
        var isCut = false
        /// The question's only row, by its key, is that of its acceptance.
        var isAcceptedOnly = false
        /// Another run that goes on was there before the question, or is all that may answer it.
        var waitsBehindAnother = false
        /// The run is over, and its follow-up continues.
        var followUp: RunID?

        var hasText: Bool { pieces.contains { !$0.text.isEmpty } }

        /// The messages of a run that continues, as far as they are written; nil: none is, or one was cut or failed.
        var soFar: String? {
            let said = pieces.map(\.text).filter { !$0.isEmpty }
            guard !said.isEmpty, failure == nil, !isResumed, !isCut, !pieces.contains(where: \.isTruncated) else {
                return nil
            }
            return said.joined(separator: "\n\n")
        }

        /// A row that was cut came in full.
        mutating func isHere(_ piece: Piece, at index: Int, reason: String?) {
            let followsRestart = pieces[index].followsRestart
            pieces[index] = piece
            pieces[index].followsRestart = followsRestart
            guard index == pieces.count - 1, !saysReason, let reason else { return }
            saysReason = true
            isComplete = reason != "error" && !OpenClawHistory.toolReasons.contains(reason)
        }

        /// A row is a message of its own.
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
    /// Early gateways do not say that there is more, and give out less than was asked for where rows are long.
    private static let fullPage = 200
    private static let wordless = "The agent run failed before producing a reply."
    /// The clocks of bridge and gateway may differ by this much when a row is known by its text.
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
            // Its owner is unknown: not this run's while that is in flight, nor where this run's approvals are known.
            let isStrange = isFollowUp && !isOurs(row, question)
            if isStrange, !question.approvals.isEmpty || !(mayBeFollowed || finding.includesFollowUp) { continue }
            // A run emits nothing after its end: later rows belong to a follow-up (openclaw.md#approvals).
            let beginsFollowUp = finding.isComplete && !finding.isAborted
            finding.isComplete = false
            if row["role"]?.holds("user") == true {
                // How the restart ended the attempt before it is no end of the run.
                (isAfterRestart, finding.isAborted, finding.failure) = (true, false, nil)
            }
            guard row["role"]?.holds("assistant") == true else { continue }
            if let said = noticeOfRestart(row) {
                finding.notice = said
                continue
            }
            if isRefusal(row, question) { continue }
            // An attempt that failed is no part of the answer.
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
            // What the gateway shows in place of an attempt without words is none.
            if finding.failure != nil, piece.text == wordless { piece.text = "" }
            // What was stopped is written by the gateway, and by the agent when that lets go of it.
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

    /// Behind a restart a gateway may say that there is more, and count no more rows than it hands out (E3).
    private static func hasMore(_ payload: FrameNode?) -> Bool {
        guard payload?["hasMore"]?.flag == true else { return false }
        let rows = payload?["messages"]?.elements.count ?? 0
        return payload?["totalMessages"]?.integer(in: .counts).map { $0 > rows } ?? true
    }

    /// The row of a user in front of these words; of the newest row where there are none.
    static func prompt(before words: String?, in payload: FrameNode?) -> String? {
        let rows = payload?["messages"]?.elements ?? []
        let place = words.flatMap { words in
            rows.lastIndex {
                $0["role"]?.holds("assistant") == true && $0["content"]?.contentText?.trimmed == words.trimmed
            }
        }
        return rows[..<(place ?? rows.endIndex)].last { $0["role"]?.holds("user") == true }?["content"]?.contentText
    }

    /// Runs that go on in the session; nil: the gateway does not say it. A run that took queued messages is in no list (E3).
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

    /// A row, or one fetched in full.
    static func piece(_ text: String, _ row: FrameNode) -> Piece {
        let isOmitted = text == omitted
        return Piece(
            text: isOmitted ? "" : AgentFiles.named(in: text.trimmed), messageID: row["__openclaw"]?["id"]?.string,
            isTruncated: isOmitted || text.hasSuffix(cutMark) || row["__openclaw"]?["truncated"]?.flag == true)
    }

    /// A row's text, up to where the gateway cut it.
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

    /// Of a follow-up that continues while the run itself is over.
    private static func followUp(of question: Question, in payload: FrameNode?) -> RunID? {
        let running = payload?["inFlightRun"]
        let active = payload?["sessionInfo"]?["activeRunIds"]?.elements.compactMap(\.string) ?? []
        let named = (running?["runId"]?.string).map { [$0] } ?? []
        guard !(named + active).contains(question.run.text),
            let next = (named + active).first(where: { asks($0, question.approvals) })
        else { return nil }
        return RunID(next)
    }

    /// The rows that name the run, or a follow-up of it, in any position; without a name those after the question, up to the next
    /// one of a user. Among them is what the gateway tells the agent after a restart.
    private static func rows(
        of question: Question, in rows: [FrameNode], hasMore: Bool, _ finding: inout Finding
    ) -> [FrameNode] {
        // What the gateway tells the agent when it goes on after a restart ends no answer.
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
                // The question is older than the page: all of this is its answer, without its beginning.
                (finding.isQuestionThere, finding.isNewest, finding.isCut) = (true, true, true)
                return rows
            }
            // The run that goes on after a restart may take the question's row out of the history (E3).
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

    /// The run that the message of a user began: its key is the run's, or has a suffix behind it (E3).
    static func asker(_ row: FrameNode) -> String? {
        guard let key = key(row) else { return nil }
        return key.hasSuffix(":user") ? String(key.dropLast(5)) : key
    }

    /// What a gateway tells the agent when it goes on with a run after its restart (openclaw.md#disconnects).
    static func isInterruption(_ row: FrameNode) -> Bool {
        row["content"]?.contentText?.contains(interruption) == true
    }

    /// What a gateway tells the agent of an attempt that only planned: the next attempt is one of the same run (E2).
    private static func isInstruction(_ row: FrameNode) -> Bool {
        row["content"]?.contentText?.contains(instruction) == true
    }

    private static let instruction = "The previous assistant turn only described the plan. Do not restate the plan."
    private static let interruption = "[System] Your previous turn was interrupted by a gateway restart"

    /// That it could not go on, in words of its own.
    static func noticeOfRestart(_ row: FrameNode) -> String? {
        guard key(row)?.hasPrefix("main-session-restart-recovery:") == true else { return nil }
        return row["content"]?.contentText
    }

    /// What the gateway answers itself to a message that it does not run (E3).
    private static func isRefusal(_ row: FrameNode, _ question: Question) -> Bool {
        key(row) == question.run.text && row["content"]?.contentText?.contains("Gateway is restarting") == true
    }

    /// A row of collected messages has a key that is no message's.
    private static func key(_ row: FrameNode) -> String? {
        guard let key = (row["__openclaw"]?["idempotencyKey"] ?? row["idempotencyKey"])?.string else { return nil }
        return key.hasPrefix("followup-collect:") ? nil : key
    }
}
