import JSONReading

/// Finds the agent of a recording by the outermost members of its frames alone: a frame may quote another agent's.
package struct AgentRecognition {
    private let parser = FrameParser()
    private let agents: AgentRegistry

    package init(_ agents: AgentRegistry) { self.agents = agents }

    /// Nil if the frame does not decide. `capacity`: readable bytes from its beginning.
    package func agent(of frame: UnsafeRawBufferPointer, capacity: Int) -> (any AgentPlugin)? {
        guard let root = parser.parse(frame, capacity: capacity), root.isObject else { return nil }
        let type = root["type"]?.string ?? ""
        return agents.plugins.first { $0.recognises(type, root) }
    }
}
