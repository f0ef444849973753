/// The state of the installation's bridge, as the phone shows it (relay.md#health).
package struct BridgeStanding: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
        /// No bridge has ever connected.
        case never
        case connected
        /// The last bridge is gone.
        case degraded
        /// The installation was removed, or has no good token.
        case revoked
    }

    package var state: State
    package var sockets: Int
    /// The last `version` of a `hello` (relay.md#frames-bridge-to-relay).
    package var version: String?

    package init(state: State, sockets: Int, version: String? = nil) {
        self.state = state
        self.sockets = sockets
        self.version = version
    }
}

extension Relay {
    package var bridgeStanding: BridgeStanding {
        let open = sockets.openCount
        let state: BridgeStanding.State =
            if installation.isRevoked || !installation.hasGoodToken {
                .revoked
            } else if open > 0 || options.hasBridgeInside {
                .connected
            } else {
                installation.hadBridge ? .degraded : .never
            }
        return BridgeStanding(state: state, sockets: open, version: installation.bridgeVersion)
    }

    /// Notifies the phone when the bridge has come or gone. `tick` calls it, and a server calls it after each event of the machine.
    package mutating func tellStanding(at now: Moment) {
        if installation.tell(bridgeStanding.state) { publishInstallation(at: now) }
    }

    /// `installation_updated` has the state and the user's names (relay.md#sse-events).
    mutating func publishInstallation(at now: Moment) {
        let (id, state, names) = (options.installation, bridgeStanding.state, installation.names)
        publish("installation_updated", at: now) { data in
            data.field("installation_id", id)
            data.field("state", state.rawValue)
            data.field("custom_display_name", names.displayName)
            data.field("custom_emoji", names.emoji)
        }
    }
}

/// The user's names for the installation.
struct InstallationNames: Hashable, Sendable {
    var displayName: String?
    var emoji: String?
}
