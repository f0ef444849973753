/// An update for the bridge, from its origin to its acknowledgement.
package struct PendingUpdate: Sendable, Hashable {
    package var id: String
    package var type: String
    var installation: String
    package var session: String?
    var interaction: String?
    /// JSON.
    var payload: [UInt8]
    var at: Moment
    var wasSent = false
    var isFlat = false
    var isDoubled = false

    /// The whole frame, nested (relay.md#frames-relay-to-bridge, D2).
    package var frame: [UInt8] {
        JSONWriter.object { frame in
            frame.field("type", "update")
            frame.object("update") { update in
                update.field("update_id", id)
                update.field("type", type)
                update.field("interaction_id", interaction)
                update.field("session_id", session)
                update.field("installation_id", installation)
                update.field("created_at", at.iso8601)
                update.field("payload", json: payload)
            }
        }
    }

    /// The RFC's form: one level, a whole number as id, `ts` in milliseconds (relay.md#wrapper, D2, D3).
    var flatFrame: [UInt8] {
        JSONWriter.object { frame in
            if let number = Int64(id) { frame.field("update_id", number) } else { frame.field("update_id", id) }
            frame.field("type", type)
            frame.field("agent_id", "agt_Simulator0000001")
            frame.field("interaction_id", interaction)
            frame.field("session_id", session)
            frame.field("installation_id", installation)
            frame.field("ts", at.milliseconds)
            frame.field("payload", json: payload)
        }
    }
}
