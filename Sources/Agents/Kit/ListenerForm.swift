package import ConfigurationFile
package import Vocabulary

/// The configuration's `agent.listener`.
package enum ListenerForm {
    package static var form: ValueForm<ListenerTrust> {
        ValueForm { content throws(Complaint) in
            guard case .string(let text) = content, !text.isEmpty, text.utf8.count <= 64,
                text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: ":") })
            else { throw Complaint("own, any, or the name or number of a user") }
            return switch text {
            case "own": .own
            case "any": .any
            default: .user(text)
            }
        } show: { trust in
            switch trust {
            case .own: .string("own")
            case .any: .string("any")
            case .user(let name): .string(name)
            }
        }
    }
}
