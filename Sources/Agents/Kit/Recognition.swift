import JSONReading

/// Which agent a recording comes from, by the outermost level of its frames alone: a frame may quote another agent's.
package struct AgentRecognition {
    private let parser = FrameParser()
    private let agents: AgentRegistry

    package init(_ agents: AgentRegistry) { self.agents = agents }

    /// Nil: this frame does not decide it. `capacity` says how many bytes from its beginning may be read.
    package func agent(of frame: UnsafeRawBufferPointer, capacity: Int) -> (any AgentPlugin)? {
        guard let root = parser.parse(frame, capacity: capacity), root.isObject else { return nil }
        let type = root["type"]?.string ?? ""
        return agents.plugins.first { $0.recognises(type, root) }
    }
}
