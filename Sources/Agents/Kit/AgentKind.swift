/// Users' word for a kind of agent: in `SOPHON_AGENT`, in the configuration's `kind`, in a recording's header.
package struct AgentKind: RawRepresentable, Hashable, Sendable {
    package let rawValue: String

    package init(rawValue: String) { self.rawValue = rawValue }
}
