import AgentKit
package import ConversationEngine
import JSONReading
package import Vocabulary

/// A model in pi's commands.
struct PiModel: Hashable {
    let provider: String
    let id: String

    /// Reads `provider/id`; the id may hold more slashes.
    init?(_ name: String) {
        guard let slash = name.firstIndex(of: "/"), slash != name.startIndex else { return nil }
        provider = String(name[..<slash])
        id = String(name[name.index(after: slash)...])
        if id.isEmpty { return nil }
    }

    static func name(_ model: FrameNode?) -> String? {
        guard let provider = model?["provider"]?.string, let id = model?["id"]?.string else { return nil }
        return "\(provider)/\(id)"
    }

    /// The answer to `get_available_models`.
    static func list(_ root: FrameNode) -> AgentReply {
        guard root["success"]?.flag == true else { return .refused(message: root["error"]?.string ?? "") }
        return .models((root["data"]?["models"]?.elements ?? []).compactMap { read($0) })
    }

    private static func read(_ node: FrameNode) -> AgentModel? {
        guard let name = name(node), ModelChoice.isName(name) else { return nil }
        var model = AgentModel(
            id: name, name: node["name"]?.string ?? node["id"]?.string ?? name, provider: node["provider"]?.string)
        model.contextWindow = node["contextWindow"]?.integer(in: .counts)
        model.reasoning = node["reasoning"]?.flag
        model.input = (node["input"]?.elements ?? []).prefix(8).compactMap(\.string)
        return model
    }
}

// The model of a prompt (pi.md#commands-stdin, `set_model`).
extension PiDialect {
    package func choose(
        _ choice: ModelChoice, _ heard: Heard, _ reading: inout PiReading, _ here: Here
    ) -> Step<ModelAnswer> {
        let wanted: String
        switch choice {
        case .unchanged: return .done(.set(before: nil))
        case .own(nil): return .done(.refused(message: "pi does not say which model was its own"))
        case .own(let model?), .named(let model): wanted = model
        }
        switch heard {
        case .begin:
            if reading.model == wanted { return .done(.set(before: nil)) }
            guard let name = PiModel(wanted) else {
                return .done(.refused(message: "pi names its models as provider/model"))
            }
            return .ask(PiFrames.setModel(name, here.request))
        case .answer(let root):
            guard root["success"]?.flag == true else {
                return .done(.refused(message: root["error"]?.string ?? "no reason given"))
            }
            let before = reading.model
            reading.model = PiModel.name(root["data"]) ?? wanted
            reading.levels.modelChanged()
            return .done(.set(before: before))
        case .result, .timeIsOver: return .done(.refused(message: "pi did not answer"))
        }
    }
}
