/// One program of a double as a test talks to it, without a bridge.
package final class ProgramTalk: @unchecked Sendable {
    package private(set) var heard: [String] = []
    package private(set) var hasEnded = false
    private let network: DoubleNetwork
    private var line: DoubleLine?

    package init(_ network: DoubleNetwork, _ arguments: [String]) {
        self.network = network
        let line = network.make(
            arguments, { true }, hear: { [unowned self] in heard.append(String(decoding: $0, as: UTF8.self)) },
            hearEnd: { [unowned self] _ in hasEnded = true })
        if network.begin(line) { self.line = line }
    }

    package func send(_ frame: String) {
        if let line { network.send(Array(frame.utf8), on: line) }
    }

    /// Ends the program's input.
    package func leave() {
        if let line { network.leave(line) }
    }
}
