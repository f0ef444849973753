package import AgentKit
package import Vocabulary

/// A child in the journal, from before it runs until its end is known. Commands that look from outside read it too.
package struct KeptProcess: Hashable, Sendable {
    package enum Life: String, Hashable, Sendable {
        case withBridge = "with_bridge"
        case byItself = "by_itself"
        case outlives
    }

    private static let mark = " process "
    private static let prefix = "agent "

    package var agent: AgentKind
    package var name: ProcessName
    /// Nil if an earlier version wrote the record.
    package var life: Life?
    /// Name of the program without its folder.
    package var program: String

    init(_ agent: AgentKind, _ name: ProcessName, _ plan: ChildPlan) {
        self.agent = agent
        self.name = name
        life =
            switch plan.life {
            case .withBridge: .withBridge
            case .byItself: .byItself
            case .outlives: .outlives
            }
        program = plan.arguments.first?.split(separator: "/").last.map(String.init) ?? ""
    }

    /// Nil if the setting names no child.
    package init?(setting: String, value: [UInt8]) {
        guard setting.hasPrefix(Self.prefix), let range = setting.firstRange(of: Self.mark) else { return nil }
        let parts = setting[range.upperBound...].split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 2, let id = Int32(parts[0]), id > 1, let ticks = UInt64(parts[1]) else { return nil }
        let kind = setting[..<range.lowerBound].dropFirst(Self.prefix.count)
        guard !kind.contains(" ") else { return nil }
        agent = AgentKind(rawValue: String(kind))
        name = ProcessName(id: id, startTicks: ticks)
        let words = String(decoding: value, as: UTF8.self).split(separator: " ", maxSplits: 1)
        life = words.first.flatMap { Life(rawValue: String($0)) }
        program = words.count == 2 ? String(words[1]) : ""
    }

    package var setting: String { Self.setting(of: name, agent) }
    var value: [UInt8] { Array("\(life?.rawValue ?? "") \(program)".utf8) }

    static func setting(of name: ProcessName, _ agent: AgentKind) -> String {
        "\(prefix)\(agent.rawValue)\(mark)\(name.id) \(name.startTicks)"
    }
}
