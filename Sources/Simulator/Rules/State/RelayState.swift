/// A document is no state of a relay. The words follow the name of the file.
package struct RelayStateFault: Error, Hashable, Sendable, CustomStringConvertible {
    package let description: String
}

// The state of a relay as one JSON document: everything that survives its restart. Open sockets and
// their requests, planned faults, and the calls kept for watchers are not in it.
//
// Every field of `Relay` and of its parts is either written, here or beside the part, or named in the test `everyFieldIsKeptOrLetGoOnPurpose`.
extension Relay {
    static let stateFormat = "sophon-relay-simulator-state"
    static let stateVersion = 1

    /// Equal states give equal bytes.
    package var state: [UInt8] {
        JSONWriter.object { state in
            state.field("format", Self.stateFormat)
            state.field("version", Int64(Self.stateVersion))
            state.field("identifiers", json: String(identifiers.position))
            phones.writeNext(to: &state)
            updates.writeNext(to: &state)
            sockets.write(to: &state)
            installation.write(to: &state)
            chats.write(to: &state)
            approvals.write(to: &state)
            state.array("keys") { list in
                for (key, known) in keys.all { list.objectElement { known.write(key, to: &$0) } }
            }
            updates.write(to: &state)
            phones.writeRing(to: &state)
            chats.writeFiles(to: &state)
            installation.writePairings(to: &state)
            state.array("buckets") { list in
                for (name, bucket) in buckets.sorted(by: { $0.key < $1.key }) {
                    list.objectElement { bucket.write(name, to: &$0) }
                }
            }
            records.write(to: &state)
        }
    }

    /// A relay with these options that continues the stored one. It has no connections.
    package init(state bytes: [UInt8], options: RelayOptions = RelayOptions()) throws(RelayStateFault) {
        let root: JSONValue
        // The document nests values deeper which bridges have nested to the limit.
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
        try phones.restoreNext(state)
        try updates.restoreNext(state)
        try sockets.restore(state)
        try installation.restore(state)
        try chats.restore(state)
        try approvals.restore(state)
        for reader in try state.list("keys") { keys.remember(try Remembered(reader), as: try reader.string("key")) }
        try updates.restore(state)
        try phones.restoreRing(state)
        try chats.restoreFiles(state)
        try installation.restorePairings(state)
        for reader in try state.list("buckets") { try buckets[try reader.string("name")]?.restore(reader) }
        try records.restore(state)
        guard phones.isInOrder else { throw StateReader.Fault(path: "ring", what: "is not in order") }
    }

    /// Numbers that differ if the passing of time has changed the state.
    package var sizes: [UInt64] {
        [phones.lastID, UInt64(updates.nextNumber)]
            + [phones.count, updates.count, chats.count, breaches.count].map(UInt64.init)
    }

    /// Call it for a state that may be older than its relay: ids given after its writing must never be given
    /// again. Bridges know messages by their ids, and would drop the next one as a repeat.
    package mutating func skipNamesInDoubt() {
        identifiers.skip(1 << 20)
        phones.skip(100_000)
        updates.skip(100_000)
    }
}
