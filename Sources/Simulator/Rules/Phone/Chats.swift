/// The user's chats: sessions with their messages and tasks, their interactions, and the files that the bridge announced for them.
///
/// Invariants: `order` and `sessions` name the same sessions; a place leads to a message or a task of an existing session, and messages
/// and tasks never move; `deleted` has the deleted sessions, oldest first; nothing names a forgotten session.
struct Chats: Sendable {
    struct Interaction: Sendable {
        var session: String
        var since: Moment
        var placeholder: String?
        var ended = false
    }

    struct MessagePlace: Sendable {
        let session: String
        let index: Int
    }

    struct TaskPlace: Sendable {
        let session: String
        let index: Int
        /// Bodies of the calls that made and finished the task.
        let created: [UInt8]
        var finished: [UInt8]?
    }

    private var order: [String] = []
    private var sessions: [String: PhoneSession] = [:]
    private var deleted: [String] = []
    private var messagePlaces: [String: MessagePlace] = [:]
    private var interactions: [String: Interaction] = [:]
    private var taskPlaces: [String: TaskPlace] = [:]
    /// Oldest first.
    private var files: [AnnouncedFile] = []

    // MARK: Look-up

    /// Oldest first.
    var all: [PhoneSession] { order.compactMap { sessions[$0] } }
    var count: Int { order.count }

    subscript(session: String) -> PhoneSession? { sessions[session] }

    func interaction(_ id: String) -> Interaction? { interactions[id] }
    func place(ofMessage id: String) -> MessagePlace? { messagePlaces[id] }
    func place(ofTask id: String, in session: String) -> TaskPlace? { taskPlaces[Self.name(ofTask: id, in: session)] }
    func message(at place: MessagePlace) -> PhoneMessage? { sessions[place.session]?.messages[place.index] }

    func hasOpenTasks(of interaction: String, in session: String) -> Bool {
        sessions[session]?.tasks.contains { $0.interaction == interaction && $0.status == nil } ?? false
    }

    func file(of session: String, blindIndex: String) -> AnnouncedFile? {
        files.first { $0.session == session && $0.blindIndex == blindIndex }
    }

    func files(of session: String) -> [AnnouncedFile] { files.filter { $0.session == session } }

    // MARK: Sessions

    mutating func open(_ session: PhoneSession) {
        order.append(session.id)
        sessions[session.id] = session
    }

    mutating func name(_ session: String, _ title: String?, at now: Moment) {
        sessions[session]?.title = title
        sessions[session]?.updatedAt = now
    }

    mutating func choose(model: String?, for session: String) { sessions[session]?.model = model }

    mutating func setArchived(_ session: String, _ isArchived: Bool) { sessions[session]?.isArchived = isArchived }

    mutating func delete(_ session: String, at now: Moment) {
        sessions[session]?.deletedAt = now
        deleted.append(session)
    }

    /// Forgets the sessions whose grace period has passed, and returns their ids.
    mutating func forgetDeleted(at now: Moment, after milliseconds: Int64) -> [String] {
        var forgotten: [String] = []
        while let id = deleted.first, let deletedAt = sessions[id]?.deletedAt,
            now.milliseconds(since: deletedAt) > milliseconds
        {
            deleted.removeFirst()
            forget(id)
            forgotten.append(id)
        }
        return forgotten
    }

    private mutating func forget(_ id: String) {
        guard let session = sessions.removeValue(forKey: id) else { return }
        order.removeAll { $0 == id }
        for message in session.messages { messagePlaces[message.id] = nil }
        for task in session.tasks { taskPlaces[Self.name(ofTask: task.id, in: id)] = nil }
        interactions = interactions.filter { $0.value.session != id }
        files.removeAll { $0.session == id }
    }

    // MARK: Interactions

    mutating func begin(_ interaction: String, in session: String, at now: Moment) {
        interactions[interaction] = Interaction(session: session, since: now)
    }

    mutating func opened(_ interaction: String, by message: String) { interactions[interaction]?.placeholder = message }
    mutating func ended(_ interaction: String) { interactions[interaction]?.ended = true }

    // MARK: Messages

    mutating func add(_ message: PhoneMessage, to session: String) {
        guard let count = sessions[session]?.messages.count else { return }
        sessions[session]?.messages.append(message)
        sessions[session]?.updatedAt = message.at
        messagePlaces[message.id] = MessagePlace(session: session, index: count)
    }

    mutating func stream(_ text: String, to place: MessagePlace) {
        sessions[place.session]?.messages[place.index].streamed += text
        sessions[place.session]?.messages[place.index].deltas += 1
    }

    /// `message` has the id of the one that it replaces.
    mutating func finish(_ message: PhoneMessage, at place: MessagePlace, at now: Moment) {
        sessions[place.session]?.messages[place.index] = message
        sessions[place.session]?.updatedAt = now
    }

    // MARK: Tasks

    mutating func add(_ task: PhoneTask, to session: String, body: [UInt8]) {
        let index = sessions[session]?.tasks.count ?? 0
        taskPlaces[Self.name(ofTask: task.id, in: session)] = TaskPlace(session: session, index: index, created: body)
        sessions[session]?.tasks.append(task)
    }

    /// `change` must keep the task's id.
    mutating func change(_ place: TaskPlace, _ change: (inout PhoneTask) -> Void) {
        guard var task = sessions[place.session]?.tasks[place.index] else { return }
        change(&task)
        sessions[place.session]?.tasks[place.index] = task
    }

    mutating func finished(_ task: String, in session: String, by body: [UInt8]) {
        taskPlaces[Self.name(ofTask: task, in: session)]?.finished = body
    }

    private static func name(ofTask id: String, in session: String) -> String { "\(session)/\(id)" }

    // MARK: Files

    /// A repeat replaces the earlier announcement. The oldest beyond the limit is forgotten.
    mutating func announce(_ file: AnnouncedFile, limit: Int) {
        files.removeAll { $0.isSame(as: file) }
        files.append(file)
        if files.count > limit { files.removeFirst() }
    }
}

// Parts of a relay's state.
extension Chats {
    func write(to state: inout JSONWriter) {
        state.array("sessions") { list in
            for session in all { list.objectElement { write(session, to: &$0) } }
        }
        state.strings("deleted_sessions", deleted)
        state.array("interactions") { list in
            for (id, interaction) in interactions.sorted(by: { $0.key < $1.key }) {
                list.objectElement { interaction.write(id, to: &$0) }
            }
        }
    }

    func writeFiles(to state: inout JSONWriter) {
        state.array("announced_files") { list in for file in files { list.objectElement(file.write) } }
    }

    mutating func restore(_ state: StateReader) throws(StateReader.Fault) {
        for reader in try state.list("sessions") { try restoreSession(reader) }
        deleted = try state.strings("deleted_sessions").filter { sessions[$0]?.isDeleted == true }
        for reader in try state.list("interactions") {
            interactions[try reader.string("id")] = try Interaction(reader)
        }
    }

    mutating func restoreFiles(_ state: StateReader) throws(StateReader.Fault) {
        for reader in try state.list("announced_files") { files.append(try AnnouncedFile(reader)) }
    }

    private func write(_ session: PhoneSession, to writer: inout JSONWriter) {
        writer.field("id", session.id)
        writer.field("source", session.source)
        writer.field("title", session.title)
        writer.field("model", session.model)
        writer.field("is_archived", session.isArchived)
        writer.moment("deleted_at", session.deletedAt)
        writer.moment("created_at", session.createdAt)
        writer.moment("updated_at", session.updatedAt)
        writer.array("messages") { list in for message in session.messages { list.objectElement(message.write) } }
        writer.array("tasks") { list in
            for task in session.tasks {
                list.objectElement { item in
                    task.write(to: &item)
                    let place = place(ofTask: task.id, in: session.id)
                    item.bytes("created", place?.created)
                    item.bytes("finished", place?.finished)
                }
            }
        }
    }

    private mutating func restoreSession(_ reader: StateReader) throws(StateReader.Fault) {
        let id = try reader.string("id")
        // The name of a task's place joins session and task by a slash.
        guard sessions[id] == nil, !id.contains("/") else {
            throw reader.fault("id", "stands twice, or has a slash")
        }
        var session = PhoneSession(
            id: id, source: try reader.optional("source"), createdAt: try reader.moment("created_at"))
        session.title = try reader.optional("title")
        session.model = try reader.optional("model")
        session.isArchived = try reader.flag("is_archived")
        session.deletedAt = try reader.optionalMoment("deleted_at")
        session.updatedAt = try reader.moment("updated_at")
        for (index, item) in try reader.list("messages").enumerated() {
            let message = try PhoneMessage(item)
            session.messages.append(message)
            messagePlaces[message.id] = MessagePlace(session: id, index: index)
        }
        for (index, item) in try reader.list("tasks").enumerated() {
            let task = try PhoneTask(item)
            session.tasks.append(task)
            taskPlaces[Self.name(ofTask: task.id, in: id)] = TaskPlace(
                session: id, index: index, created: try item.bytes("created"),
                finished: try item.optionalBytes("finished"))
        }
        open(session)
    }
}
