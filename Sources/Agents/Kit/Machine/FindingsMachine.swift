package import Vocabulary

/// A machine for `doctor` without a connection: its findings are known before.
package struct FindingsMachine: AgentMachine {
    private let findings: [DoctorFinding]

    package init(_ findings: [DoctorFinding]) { self.findings = findings }

    package mutating func begin(_ past: AgentPast, _ now: Occasion) -> [AgentOrder] { [] }
    package mutating func check(_ now: Occasion) -> [AgentOrder] { findings.map { .finding($0) } + [.done] }
    package mutating func command(_ command: AgentCommand, _ now: Occasion) -> [AgentOrder] { [] }
    package mutating func received(
        _ frame: UnsafeRawBufferPointer, capacity: Int, on channel: ChannelID, _ now: Occasion,
        into orders: inout [AgentOrder]
    ) {}
    package mutating func happened(_ event: ChannelEvent, on channel: ChannelID, _ now: Occasion) -> [AgentOrder] { [] }
    package mutating func slept(_ now: Occasion) -> [AgentOrder] { [] }
    package mutating func shutDown(_ now: Occasion) -> [AgentOrder] { [] }
}
