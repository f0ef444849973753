package import JSONReading
package import Vocabulary

/// Dialogs of pi's extensions, which Oppi forwards (pi.md#extension-ui, oppi.md#extension-dialogs): a dialog that yes and no can
/// answer is a card, any other a question.
package enum DialogRequest {
    /// Methods that only show something and need no answer.
    package static let notices: Set<String> = ["notify", "setStatus", "setWidget", "setTitle", "set_editor_text"]
    /// Largest timeout, in milliseconds: a timer of Node's fires at once beyond it.
    private static let longest = 2_147_483_647
    private static let tooLong = 2_147_483_648
    private static let title = "The agent asks"
    /// Bytes of the longest title; a card may cut a longer one.
    private static let longestTitle = 120

    /// Nil unless yes and no can answer the dialog.
    package static func read(_ root: FrameNode, at now: Instant) -> ApprovalRequest? {
        guard let id = root["id"]?.string else { return nil }
        var (title, message) = heading(root)
        switch root["method"]?.string {
        case "confirm": break
        case "select" where yesAndNo(root) != nil:
            // A yes answers with this option, so the card always shows it.
            message += (message.isEmpty ? "" : "\n\n") + options(root).joined(separator: " / ")
        default: return nil
        }
        return ApprovalRequest(
            id: ApprovalID(id), subject: .dialog, title: title, message: message, expiresAt: expiry(root, at: now))
    }

    /// Nil if yes and no answer the dialog, or nothing can: a choice without options, a method of a later version.
    package static func question(_ root: FrameNode, at now: Instant) -> Question? {
        guard let id = root["id"]?.string else { return nil }
        let (title, message) = heading(root)
        var question = Question(
            id: QuestionID(id), title: title, message: message, expiresAt: expiry(root, at: now))
        switch root["method"]?.string {
        case "select":
            let options = options(root)
            guard !options.isEmpty, yesAndNo(root) == nil else { return nil }
            question.options = options.map { Question.Option($0) }
        case "input":
            question.allowsOwnWords = true
            question.placeholder = root["placeholder"]?.string
        case "editor":
            question.allowsOwnWords = true
            question.prefill = root["prefill"]?.string
        default: return nil
        }
        return question
    }

    /// The option for yes and the option for no, if there are no others and both are known words. "Always" is none of them: a tap
    /// that allows once must not answer with it.
    package static func yesAndNo(_ root: FrameNode) -> (yes: String, no: String)? {
        let options = options(root)
        guard options.count == 2, root["options"]?.elements.count == 2,
            let yes = options.first(where: DialogAnswer.meansYes), let no = options.first(where: DialogAnswer.meansNo)
        else { return nil }
        return (yes, no)
    }

    /// A long title goes into the message: extensions put whole commands there, and a card shows only a part of one line.
    package static func heading(_ root: FrameNode) -> (title: String, message: String) {
        heading(root["title"]?.string ?? title, root["message"]?.string ?? "")
    }

    package static func heading(_ title: String, _ message: String = "") -> (title: String, message: String) {
        guard title.utf8.count > longestTitle || title.contains(where: \.isNewline) else { return (title, message) }
        return (Self.title, message.isEmpty ? title : "\(title)\n\n\(message)")
    }

    private static func options(_ root: FrameNode) -> [String] { root["options"]?.elements.compactMap(\.string) ?? [] }

    /// The expiry, by the rules of Node's timer: zero sets none, and a number outside its range expires at once.
    package static func expiry(_ root: FrameNode, at now: Instant) -> Instant? {
        guard let milliseconds = root["timeout"]?.integer(clampedTo: -1...tooLong), milliseconds != 0 else {
            return nil
        }
        return now + .milliseconds((1...longest).contains(milliseconds) ? milliseconds : 1)
    }
}

/// The answer to a dialog, as the bridge sent it.
package enum DialogAnswer {
    package static func decision(_ root: FrameNode) -> ApprovalDecision {
        if root["cancelled"]?.flag == true || root["confirmed"]?.flag == false { return .deny }
        if root["confirmed"]?.flag == true { return .approve }
        return meansYes(root["value"]?.string ?? "") ? .approve : .deny
    }

    package static func answer(_ root: FrameNode, to question: Question) -> QuestionAnswer {
        guard root["cancelled"]?.flag != true, let value = root["value"]?.string else { return .declined }
        return question.options.isEmpty ? .text(value) : .choices([value])
    }

    package static func meansYes(_ option: String) -> Bool { yes.contains(option.lowercased()) }
    package static func meansNo(_ option: String) -> Bool { no.contains(option.lowercased()) }

    private static let yes: Set = [
        "yes", "y", "ok", "okay", "allow", "allow once", "approve", "confirm", "run", "continue", "proceed", "accept",
    ]
    private static let no: Set = ["no", "n", "block", "deny", "cancel", "reject", "decline", "abort", "stop"]
}
