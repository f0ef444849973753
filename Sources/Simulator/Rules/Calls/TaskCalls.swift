// Tool calls of `/v1/bridge` (relay.md#tool-calls).
extension Relay {
    private mutating func taskAddress(_ fields: inout Fields) -> (session: String, interaction: String?, task: String) {
        let session = fields.required("session_id")
        let interaction = fields.optional("interaction_id")
        let task = fields.required("task_id", atMost: 1_024)
        if task.unicodeScalars.count > 256 { fields.complain("task_id", .tooBig, "at most 256 characters", .oversized) }
        return (session, interaction, task)
    }

    mutating func createTask(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal) -> [UInt8] {
        let (session, interaction, task) = taskAddress(&fields)
        let kind = fields.required("kind")
        let label = fields.pair("status_label", required: false)
        let arguments = fields.jsonPair("args")
        _ = fields.key(required: false)
        try fields.check()
        if let known = chats.place(ofTask: task, in: session) {
            guard known.created == body else {
                throw .conflict("The task \(task) exists with another body.", breach: .idempotencyConflict)
            }
            records.replayed()
            return Array(#"{"idempotent":true}"#.utf8)
        }
        try checkSession(session)
        try checkInteraction(interaction, in: session, at: now)
        try checkOpened(interaction, "The task")
        if let interaction, chats.interaction(interaction)?.ended == true {
            throw Refusal(
                status: 409, code: "message_finalized", message: "The task came after the end.", breach: .taskAfterEnd)
        }
        chats.add(
            PhoneTask(
                id: task, kind: kind, interaction: interaction, label: label.plain, arguments: arguments.plain,
                sealed: ["status_label_ct": label.sealed, "args_ct": arguments.sealed].compactMapValues { $0 }),
            to: session, body: body)
        publish("task_created", at: now) { data in
            data.field("task_id", task)
            data.field("session_id", session)
            data.field("interaction_id", interaction)
            data.field("kind", kind)
            label.write("status_label", to: &data)
            arguments.writeJSON("args", to: &data)
        }
        return Array("{}".utf8)
    }

    private func knownTask(_ session: String, _ task: String) throws(Refusal) -> Chats.TaskPlace {
        guard let place = chats.place(ofTask: task, in: session) else {
            throw Refusal(status: 404, code: "task_not_found", message: "The task is not known.", breach: .unknownTask)
        }
        return place
    }

    mutating func updateTask(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal) -> [UInt8] {
        let (session, interaction, task) = taskAddress(&fields)
        let label = fields.pair("status_label", required: false)
        let percent = fields.integer("progress_percent", 0...100)
        let partial = fields.jsonPair("partial_result")
        let key = fields.key(required: false)
        try fields.check()
        if let known = try replay(key, "updateTask", body, at: now) { return known }
        try checkSession(session)
        try checkInteraction(interaction, in: session, at: now)
        let place = try knownTask(session, task)
        if place.finished != nil {
            throw Refusal(
                status: 409, code: "invalid_request", message: "The task is finished.", breach: .taskUpdateAfterFinish)
        }
        chats.change(place) { known in
            known.label = label.plain ?? known.label
            known.partialResult = partial.plain ?? known.partialResult
            known.percent = percent ?? known.percent
            known.keepSealed(["status_label_ct": label.sealed, "partial_result_ct": partial.sealed])
        }
        publish("task_progress", at: now) { data in
            data.field("task_id", task)
            data.field("session_id", session)
            data.field("interaction_id", interaction)
            label.write("status_label", to: &data)
            if let percent { data.field("progress_percent", Int64(percent)) }
            partial.writeJSON("partial_result", to: &data)
        }
        remember(key, "updateTask", body, Array("{}".utf8), at: now)
        return Array("{}".utf8)
    }

    mutating func finishTask(_ fields: inout Fields, _ body: [UInt8], at now: Moment) throws(Refusal) -> [UInt8] {
        let (session, interaction, task) = taskAddress(&fields)
        let name = fields.optional("name")
        let status = fields.enumeration("status", ["completed", "failed", "cancelled"], required: true)
        let label = fields.pair("status_label", required: false)
        let error = fields.pair("error", required: false)
        let result = fields.jsonPair("result")
        _ = fields.key(required: false)
        try fields.check()
        try checkSession(session)
        let place = try knownTask(session, task)
        if let finished = place.finished {
            guard finished == body else {
                throw .conflict("The task \(task) is finished already.", breach: .taskFinishedTwice)
            }
            records.replayed()
            return Array(#"{"idempotent":true}"#.utf8)
        }
        try checkInteraction(interaction, in: session, at: now)
        chats.finished(task, in: session, by: body)
        chats.change(place) { known in
            known.status = status
            known.result = result.plain
            known.error = error.plain
            known.keepSealed(["status_label_ct": label.sealed, "error_ct": error.sealed, "result_ct": result.sealed])
            known.label = label.plain ?? known.label
        }
        publish("task_\(status ?? "completed")", at: now) { data in
            data.field("task_id", task)
            data.field("session_id", session)
            data.field("interaction_id", interaction)
            data.field("name", name)
            label.write("status_label", to: &data)
            error.write("error", to: &data)
            result.writeJSON("result", to: &data)
        }
        return Array("{}".utf8)
    }
}

extension PhoneTask {
    fileprivate mutating func keepSealed(_ twins: [String: String?]) {
        sealed.merge(twins.compactMapValues { $0 }) { _, new in new }
    }
}
