import JSONReading
package import Vocabulary

/// Reads an update from its frame (relay.md#updates-relay-to-bridge).
struct UpdateReader {
    /// Most bytes of a word. Names and descriptions are cut to it, since they may reach logs and files.
    private static let wordLimit = 400

    /// Members of the update: nested under `update`, or the frame itself (relay.md#wrapper, D2).
    private let update: FrameNode
    private let payload: FrameNode?

    init(_ frame: FrameNode) {
        update = frame["update"].flatMap { $0.isObject ? $0 : nil } ?? frame
        payload = update["payload"].flatMap { $0.isObject ? $0 : nil }
    }

    /// Whether the frame is an update, readable or not.
    static func isUpdate(_ frame: FrameNode, _ type: FrameNode?) -> Bool {
        type?.holds("update") == true || frame["update"]?.isObject == true
            || (frame["update_id"] != nil && frame["payload"] != nil)
    }

    /// Opaque. A number is kept verbatim, and acknowledged as a number (relay.md#where-the-sources-disagree).
    var id: (id: UpdateID, isNumber: Bool)? {
        guard let node = update["update_id"] else { return nil }
        let text = node.isNumber ? node.compact.text : node.string ?? ""
        guard RelayName.isTaken(text) else { return nil }
        return (UpdateID(text), node.isNumber)
    }

    /// Whether an id of the relay is unfit to show: the whole update is left out then.
    var hasRefusedName: Bool {
        let message = payload?["message"]
        let names = [
            payload?["session"]?["id"], payload?["session_id"], update["session_id"], payload?["interaction_id"],
            update["interaction_id"], payload?["installation"]?["id"], payload?["installation_id"],
            update["installation_id"], message?["id"], payload?["device_id"],
        ]
        // An empty id names nothing.
        return names.contains { $0?.string.map { !$0.isEmpty && !RelayName.isTaken($0) } ?? false }
    }

    /// Empty if the update has none.
    var type: String {
        let type = word(update["type"]) ?? ""
        return type == "update" ? "" : type.head(bytes: 64)
    }

    /// Nil if an indispensable member is missing.
    func read(_ id: UpdateID, at now: Instant) -> RelayUpdate? {
        let type = type
        guard !type.isEmpty, let payload = payload(of: type) else { return nil }
        var fingerprint: String? = fingerprint(of: type)
        if case .message(let message, _) = payload, message.id != unnamed { fingerprint = nil }
        return RelayUpdate(
            id: id, type: type, receivedAt: now,
            createdAtWallMilliseconds: WallTime.milliseconds(update["created_at"] ?? update["ts"]), session: session,
            interaction: interaction, installation: installation, payload: payload, fingerprint: fingerprint)
    }

    private var session: SessionID? {
        (name(payload?["session"]?["id"]) ?? name(payload?["session_id"]) ?? name(update["session_id"]))
            .map { SessionID($0) }
    }

    private var interaction: InteractionID? {
        (name(payload?["interaction_id"]) ?? name(update["interaction_id"])).map { InteractionID($0) }
    }

    private var installation: String? {
        name(payload?["installation"]?["id"]) ?? name(payload?["installation_id"]) ?? name(update["installation_id"])
    }

    private func fingerprint(of type: String) -> String {
        StableHash.text(ofBytes: Array("\(type)\n\(payload?.compact.text ?? "")".utf8))
    }

    /// Id for a message without one, the same at each delivery. The same words written again are
    /// another message: it has an interaction of its own, or another time.
    private var unnamed: MessageID {
        let wrapper = interaction?.text ?? (update["created_at"] ?? update["ts"])?.compact.text ?? ""
        let text = "session.message\n\(payload?.compact.text ?? "")\n\(wrapper)"
        return MessageID("unnamed-\(StableHash.text(ofBytes: Array(text.utf8)))")
    }

    // MARK: Payloads

    private func payload(of type: String) -> RelayUpdate.Payload? {
        switch type {
        case "session.message": message
        case "session.cancelled": session == nil && interaction == nil ? nil : .stop(stopReason)
        case "session.started": session.map { _ in .sessionStarted }
        case "session.ended": session.map { _ in .sessionEnded }
        case "session.model.changed": chosenModel
        case "approval.resolved": approval
        case "task.timeout", "task.cancelled":
            name(payload?["task_id"]).map { .taskStopped(TaskID($0), reason: word(payload?["reason"])) }
        case "device_added": device
        case "device_revoked": name(payload?["device_id"]).map { .deviceRevoked(device: $0) }
        case "session_key_granted": key
        case "installation.revoked": .installationRevoked(reason: word(payload?["reason"]))
        default: .other
        }
    }

    private var message: RelayUpdate.Payload? {
        guard let message = payload?["message"], message.isObject, let session else { return nil }
        let sealed = message["text_ct"]?.string.flatMap { $0.isEmpty ? nil : $0 }
        let all = message["attachments"]?.elements ?? []
        var attachments = all.prefix(UserMessage.attachmentLimit).map {
            Attachment(
                url: $0["url"]?.string, key: $0["key"]?.string, mimeType: word($0["mime"]), name: word($0["name"]))
        }
        let more = all.count - attachments.count
        // One entry for all of them: a sentence for each would fill the prompt and the bubble.
        if more > 0 { attachments.append(Attachment(name: "\(more) more \(more == 1 ? "file" : "files")")) }
        var read = UserMessage(
            id: name(message["id"]).map { MessageID($0) } ?? unnamed, session: session, interaction: interaction,
            // The sealed text takes precedence over the plain one (relay.md#sessionmessage-the-user-wrote).
            text: sealed == nil ? message["text"]?.string ?? "" : "", attachments: attachments,
            model: model(payload?["session"]?["model"]), thoughtLevel: word(message["thought_level"]))
        read.isModelUnsaid = payload?["session"]?["model"] == nil
        return .message(read, sealedText: sealed)
    }

    /// An invalid model name becomes words that are no name (`ModelChoice.isName`): the answer to the message can quote it.
    private func model(_ node: FrameNode?) -> String? {
        guard let node, node.compact.text != "null" else { return nil }
        guard let text = node.string else { return "(no text)" }
        return ModelChoice.isName(text) ? text : "\(text.head(bytes: 80)) …"
    }

    /// Nil if the update names no model that a session could have.
    private var chosenModel: RelayUpdate.Payload? {
        let chosen = model(payload?["model"])
        guard session != nil, chosen.map({ ModelChoice.isName($0) }) ?? true else { return nil }
        return .model(chosen)
    }

    private var stopReason: RelayUpdate.StopReason {
        switch payload?["reason"]?.string {
        case "user_aborted", nil: .userAborted
        case "session_deleted": .sessionDeleted
        case "installation_revoked": .installationRevoked
        case "navigation_away": .navigationAway
        default: .other
        }
    }

    /// An unknown decision is none: it must not pass for a yes.
    private var approval: RelayUpdate.Payload? {
        guard let id = name(payload?["approval_id"]),
            let decision = payload?["decision"]?.string.flatMap(ApprovalDecision.init(rawValue:))
        else { return nil }
        // A blank reason is none: with a reason, the decision would count as the relay's.
        let reason = word(payload?["reason"]).flatMap { $0.allSatisfy(\.isWhitespace) ? nil : $0 }
        return .approval(ApprovalID(id), decision, .init(reason: reason, scope: scope))
    }

    /// A scope that is no text counts as an unknown scope: it must not pass for none.
    private var scope: DecisionScope {
        guard let node = payload?["scope"], node.compact.text != "null" else { return .unscoped }
        return DecisionScope(name: word(node) ?? "", value: word(payload?["scope_value"]))
    }

    private var device: RelayUpdate.Payload? {
        guard let id = name(payload?["device_id"]), let key = payload?["pubkey"]?.string, key.utf8.count == 64,
            key.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else { return nil }
        return .deviceAdded(
            .init(id: id, publicKey: key, label: word(payload?["label"]), platform: word(payload?["platform"])))
    }

    private var key: RelayUpdate.Payload? {
        guard session != nil, let device = name(payload?["device_id"]),
            let key = payload?["wrapped_session_key"]?.string, (1...4096).contains(key.utf8.count)
        else { return nil }
        return .sessionKeyGranted(device: device, wrappedKey: key)
    }

    // MARK: Words

    /// An id, whole or not at all.
    private func name(_ node: FrameNode?) -> String? {
        node?.string.flatMap { (1...256).contains($0.utf8.count) ? $0 : nil }
    }

    private func word(_ node: FrameNode?) -> String? { node?.string.map { $0.head(bytes: Self.wordLimit) } }
}

extension RelayUpdate {
    /// Reads an update from a frame of the relay's socket. Nil if the frame is no update, or lacks indispensable members.
    package static func read(_ frame: [UInt8], at now: Instant) -> RelayUpdate? {
        let parser = FrameParser()
        return frame.withUnsafeBytes { bytes in
            guard let root = parser.parse(bytes, capacity: bytes.count), UpdateReader.isUpdate(root, root["type"])
            else {
                return nil
            }
            let reader = UpdateReader(root)
            return reader.id.flatMap { reader.read($0.id, at: now) }
        }
    }
}
