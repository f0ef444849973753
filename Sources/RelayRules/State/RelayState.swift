/// Why a document is no state of a relay; the words come after the name of the file.
package struct RelayStateFault: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
}

// The state of a relay as one JSON document: everything that a relay which comes up again still has. Not in it are the open
// sockets and what was asked of them, planned faults, and the calls kept for watchers.
//
// Every field of `Relay` is either written here or named in the test `everyFieldIsKeptOrLetGoOnPurpose`.
extension Relay {
    static let stateFormat = "sophon-relay-simulator-state"
    static let stateVersion = 1

    /// The same state gives the same bytes.
    package var state: [UInt8] {
        JSONWriter.object { state in
            state.field("format", Self.stateFormat)
            state.field("version", Int64(Self.stateVersion))
            state.field("identifiers", json: String(identifiers.position))
            state.field("next_event", json: String(nextEvent))
            state.field("next_update", Int64(nextUpdate))
            state.field("next_update_of_other_node", Int64(nextUpdateOfOtherNode))
            state.field("last_socket", Int64(lastSocket))
            writeInstallation(to: &state)
            state.array("sessions") { list in
                for session in sessions { list.objectElement { write(session, to: &$0) } }
            }
            state.strings("deleted_sessions", deletedSessions)
            state.array("interactions") { list in
                for (id, interaction) in interactions.sorted(by: { $0.key < $1.key }) {
                    list.objectElement { interaction.write(id, to: &$0) }
                }
            }
            state.array("approvals") { list in
                for id in settledApprovals + openApprovals {
                    if let approval = approvals[id] { list.objectElement(approval.write) }
                }
            }
            state.array("keys") { list in
                for (key, known) in keys.all { list.objectElement { known.write(key, to: &$0) } }
            }
            state.array("updates") { list in for update in updates { list.objectElement(update.write) } }
            state.array("ring") { list in for event in ring { list.objectElement(event.write) } }
            state.array("announced_files") { list in
                for file in announcedFiles { list.objectElement(file.write) }
            }
            state.array("pairings") { list in for pairing in pairings { list.objectElement(pairing.write) } }
            state.array("memory") { list in
                for (key, entry) in memory.sorted(by: { $0.key < $1.key }) {
                    list.objectElement { item in
                        item.field("key", key)
                        item.field("value", json: entry.value)
                        item.field("at", entry.at.milliseconds)
                    }
                }
            }
            state.array("buckets") { list in
                for (name, bucket) in buckets.sorted(by: { $0.key < $1.key }) {
                    list.objectElement { bucket.write(name, to: &$0) }
                }
            }
            state.array("breaches") { list in for breach in breaches { list.objectElement(breach.write) } }
            state.array("warnings") { list in for warning in warnings { list.objectElement(warning.write) } }
            state.object("tally", tally.write)
        }
    }

    /// A relay with these options that goes on where the other was. It has no connections.
    package init(state bytes: [UInt8], options: RelayOptions = RelayOptions()) throws(RelayStateFault) {
        let root: JSONValue
        // What bridges sent as deep as they may stands deeper in here.
        do throws(JSONFault) { root = try JSONParser.parse(bytes, depthLimit: 2 * JSONParser.maximumDepth) } catch {
            throw RelayStateFault(description: "is broken at byte \(error.offset) (\(error.code))")
        }
        guard root["format"]?.string == Self.stateFormat else {
            throw RelayStateFault(description: "is not a state of the simulator")
        }
        guard let version = root["version"]?.integer, version == Self.stateVersion else {
            throw RelayStateFault(
                description:
                    "has version \(root["version"]?.text ?? "none"), and this program reads \(Self.stateVersion)")
        }
        self.init(options: options)
        do throws(StateReader.Fault) { try restore(StateReader(root)) } catch {
            throw RelayStateFault(description: "is broken: \(error.path) \(error.what)")
        }
    }

    private mutating func restore(_ state: StateReader) throws(StateReader.Fault) {
        identifiers = IdentifierSource(position: try state.bits("identifiers"))
        nextEvent = try state.number("next_event", from: 1)
        nextUpdate = try state.integer("next_update", from: 1)
        nextUpdateOfOtherNode = try state.integer("next_update_of_other_node", from: 1)
        lastSocket = try state.integer("last_socket")
        try restoreInstallation(state)
        for reader in try state.list("sessions") { try restoreSession(reader) }
        deletedSessions = try state.strings("deleted_sessions").filter { sessionStates[$0]?.isDeleted == true }
        for reader in try state.list("interactions") {
            interactions[try reader.string("id")] = try Interaction(reader)
        }
        for reader in try state.list("approvals") {
            let approval = try PhoneApproval(reader)
            guard approvals.updateValue(approval, forKey: approval.id) == nil else {
                throw reader.fault("id", "stands twice")
            }
            if approval.decision == nil {
                openApprovals.append(approval.id)
            } else {
                settledApprovals.append(approval.id)
            }
        }
        for reader in try state.list("keys") { keys.remember(try Remembered(reader), as: try reader.string("key")) }
        for reader in try state.list("updates") { updates.append(try PendingUpdate(reader)) }
        for reader in try state.list("ring") { ring.append(try PhoneEvent(reader)) }
        for reader in try state.list("announced_files") { announcedFiles.append(try AnnouncedFile(reader)) }
        for reader in try state.list("pairings") { pairings.append(try Pairing(reader)) }
        for reader in try state.list("memory") {
            memory[try reader.string("key")] = (try reader.json("value"), try reader.moment("at"))
        }
        for reader in try state.list("buckets") { try buckets[try reader.string("name")]?.restore(reader) }
        for reader in try state.list("breaches") { breaches.append(try Breach(reader)) }
        // A state of before there were warnings has none.
        for reader in try state.has("warnings") ? state.list("warnings") : [] {
            lastWarning += 1
            warnings.append(try Warning(reader, number: lastWarning))
        }
        tally = try Tally(try state.object("tally"))
        guard zip(ring, ring.dropFirst()).allSatisfy({ $0.id < $1.id }), ring.last.map({ $0.id < nextEvent }) ?? true
        else { throw StateReader.Fault(path: "ring", what: "is not in order") }
    }

    /// Differ when time alone has changed what is kept.
    package var sizes: [UInt64] {
        [nextEvent, UInt64(nextUpdate)]
            + [ring.count, updates.count, sessionOrder.count, breaches.count].map(UInt64.init)
    }

    /// To be called when a state may be older than the relay that wrote it: what was named after it was written has names that
    /// must not be given to anything else. Bridges know messages by their ids, and would take the next one for a repeat.
    package mutating func skipNamesInDoubt() {
        identifiers.skip(1 << 20)
        nextEvent += 100_000
        nextUpdate += 100_000
        nextUpdateOfOtherNode += 100_000
    }

    // MARK: The installation

    private func writeInstallation(to state: inout JSONWriter) {
        state.array("tokens") { list in
            for (token, standing) in tokens.sorted(by: { $0.key < $1.key }) {
                list.objectElement { item in
                    item.field("token", token)
                    item.field("is_good", standing == .good)
                }
            }
        }
        state.object("installation") { installation in
            installation.field("is_revoked", isInstallationRevoked)
            installation.field("display_name", installationNames.displayName)
            installation.field("emoji", installationNames.emoji)
            installation.field("had_bridge", hadBridge)
            installation.field("bridge_version", bridgeVersion)
            installation.field("told_standing", toldStanding.rawValue)
            installation.field("device_id", bridgeDevice?.id)
            installation.field("device_key", bridgeDevice?.key)
        }
    }

    /// The token of the options is good unless the document says otherwise.
    private mutating func restoreInstallation(_ state: StateReader) throws(StateReader.Fault) {
        for reader in try state.list("tokens") {
            tokens[try reader.string("token")] = try reader.flag("is_good") ? .good : .revoked
        }
        let installation = try state.object("installation")
        isInstallationRevoked = try installation.flag("is_revoked")
        installationNames = InstallationNames(
            displayName: try installation.optional("display_name"), emoji: try installation.optional("emoji"))
        hadBridge = try installation.flag("had_bridge")
        bridgeVersion = try installation.optional("bridge_version")
        toldStanding = try installation.choice("told_standing")
        if let id = try installation.optional("device_id"), let key = try installation.optional("device_key") {
            bridgeDevice = (id, key)
        }
    }

    // MARK: Sessions

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
                    let place = taskPlaces["\(session.id)/\(task.id)"]
                    item.bytes("created", place?.created)
                    item.bytes("finished", place?.finished)
                }
            }
        }
    }

    private mutating func restoreSession(_ reader: StateReader) throws(StateReader.Fault) {
        let id = try reader.string("id")
        // Messages and tasks are found by their place in the one chat of their name.
        guard sessionStates[id] == nil, !id.contains("/") else {
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
            messagePlaces[message.id] = (id, index)
        }
        for (index, item) in try reader.list("tasks").enumerated() {
            let task = try PhoneTask(item)
            session.tasks.append(task)
            taskPlaces["\(id)/\(task.id)"] = TaskPlace(
                session: id, index: index, created: try item.bytes("created"),
                finished: try item.optionalBytes("finished"))
        }
        sessionOrder.append(id)
        sessionStates[id] = session
    }
}
