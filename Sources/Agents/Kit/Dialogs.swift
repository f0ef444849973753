package import JSONReading
package import Vocabulary

/// The dialogs of pi's extensions, which Oppi hands on (pi.md#extension-ui, oppi.md#extension-dialogs): those that yes and no answer are
/// cards, the others are questions.
package enum DialogRequest {
    /// What only shows something and wants no answer.
    package static let notices: Set<String> = ["notify", "setStatus", "setWidget", "setTitle", "set_editor_text"]
    /// In milliseconds: a timer of Node's fires at once beyond it.
    private static let longest = 2_147_483_647
    private static let tooLong = 2_147_483_648
    private static let title = "The agent asks"
    /// In bytes; what is longer may be cut where it is shown.
    private static let longestTitle = 120

    /// Nil when yes and no do not answer it.
    package static func read(_ root: FrameNode, at now: Instant) -> ApprovalRequest? {
        guard let id = root["id"]?.string else { return nil }
        var (title, message) = heading(root)
        switch root["method"]?.string {
        case "confirm": break
        case "select" where yesAndNo(root) != nil:
            // The option that a yes answers with is always on the card.
            message += (message.isEmpty ? "" : "\n\n") + options(root).joined(separator: " / ")
        default: return nil
        }
        return ApprovalRequest(
            id: ApprovalID(id), subject: .dialog, title: title, message: message, expiresAt: expiry(root, at: now))
    }

    /// Nil when yes and no answer it, or nothing can: a choice without options, a method of a later version.
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

    /// The option that means yes and the one that means no, where there is no third and each is known for what it means. One that says
    /// "always" is none of them: a tap that allows once must not answer with it.
    package static func yesAndNo(_ root: FrameNode) -> (yes: String, no: String)? {
        let options = options(root)
        guard options.count == 2, root["options"]?.elements.count == 2,
            let yes = options.first(where: DialogAnswer.meansYes), let no = options.first(where: DialogAnswer.meansNo)
        else { return nil }
        return (yes, no)
    }

    /// Extensions write a whole command into the title, of which a card shows one line and a part: then it goes into the message.
    package static func heading(_ root: FrameNode) -> (title: String, message: String) {
        heading(root["title"]?.string ?? title, root["message"]?.string ?? "")
    }

    package static func heading(_ title: String, _ message: String = "") -> (title: String, message: String) {
        guard title.utf8.count > longestTitle || title.contains(where: \.isNewline) else { return (title, message) }
        return (Self.title, message.isEmpty ? title : "\(title)\n\n\(message)")
    }

    private static func options(_ root: FrameNode) -> [String] { root["options"]?.elements.compactMap(\.string) ?? [] }

    /// The expiry by the agent's own timer (Node): zero sets none, and a number outside of its range expires at once.
    package static func expiry(_ root: FrameNode, at now: Instant) -> Instant? {
        guard let milliseconds = root["timeout"]?.integer(clampedTo: -1...tooLong), milliseconds != 0 else {
            return nil
        }
        return now + .milliseconds((1...longest).contains(milliseconds) ? milliseconds : 1)
    }
}

/// The answer to a dialog, as it was sent.
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
