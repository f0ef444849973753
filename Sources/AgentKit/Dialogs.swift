package import BridgeModel
package import JSONReading

/// The dialogs of pi's extensions, which Oppi hands on (pi.md#extension-ui, oppi.md#extension-dialogs): those that yes and no answer are
/// cards, the others are questions.
package enum DialogRequest {
    /// What only shows something and wants no answer.
    package static let notices: Set<String> = ["notify", "setStatus", "setWidget", "setTitle", "set_editor_text"]
    private static let longest = 86_400_000
    private static let title = "The agent asks"

    /// Nil when yes and no do not answer it.
    package static func read(_ root: FrameNode, at now: Instant) -> ApprovalRequest? {
        guard let id = root["id"]?.string else { return nil }
        let options = options(root)
        switch root["method"]?.string {
        case "confirm": break
        case "select" where yesAndNo(options) != nil: break
        default: return nil
        }
        return ApprovalRequest(
            id: ApprovalID(id), subject: .dialog, title: root["title"]?.string ?? title,
            message: root["message"]?.string ?? options.joined(separator: " / "), expiresAt: expiry(root, at: now))
    }

    /// Nil when yes and no answer it, or nothing can: a choice without options, a method of a later version.
    package static func question(_ root: FrameNode, at now: Instant) -> Question? {
        guard let id = root["id"]?.string else { return nil }
        var question = Question(
            id: QuestionID(id), title: root["title"]?.string ?? title, message: root["message"]?.string ?? "",
            expiresAt: expiry(root, at: now))
        switch root["method"]?.string {
        case "select":
            let options = options(root)
            guard !options.isEmpty, yesAndNo(options) == nil else { return nil }
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

    /// The option that means yes and the one that means no, where there is no third.
    package static func yesAndNo(_ options: [String]) -> (yes: String, no: String?)? {
        let yes = options.filter { !DialogAnswer.meansNo($0) }
        guard options.count <= 2, yes.count == 1 else { return nil }
        return (yes[0], options.first(where: DialogAnswer.meansNo))
    }

    private static func options(_ root: FrameNode) -> [String] { root["options"]?.elements.compactMap(\.string) ?? [] }

    private static func expiry(_ root: FrameNode, at now: Instant) -> Instant? {
        root["timeout"]?.integer(clampedTo: 0...longest).map { now + .milliseconds($0) }
    }
}

/// The answer to a dialog, as it was sent.
package enum DialogAnswer {
    package static func decision(_ root: FrameNode) -> ApprovalDecision {
        if root["cancelled"]?.flag == true || root["confirmed"]?.flag == false { return .deny }
        if root["confirmed"]?.flag == true { return .approve }
        return meansNo(root["value"]?.string ?? "") ? .deny : .approve
    }

    package static func answer(_ root: FrameNode, to question: Question) -> QuestionAnswer {
        guard root["cancelled"]?.flag != true, let value = root["value"]?.string else { return .declined }
        return question.options.isEmpty ? .text(value) : .choices([value])
    }

    package static func meansNo(_ option: String) -> Bool {
        ["block", "deny", "no", "cancel", "reject", ""].contains(option.lowercased())
    }
}
