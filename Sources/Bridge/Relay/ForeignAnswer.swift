package import Vocabulary

extension ForeignAnswer {
    /// An answer outside the relay's envelope. No part of its body is quoted: a proxy may repeat the request in it.
    package init(status: Int, body: [UInt8], server: String? = nil) {
        let first = body.first { !($0 == 0x20 || (0x09...0x0D).contains($0)) }
        let content: Content =
            switch first {
            case nil: .nothing
            case UInt8(ascii: "<"): .webPage
            case UInt8(ascii: "{"), UInt8(ascii: "["): .otherJSON
            default: .text
            }
        self.init(status: status, content: content, server: server.flatMap(Self.safeName))
    }

    /// A server program's name: a few letters that no terminal interprets.
    private static func safeName(_ text: String) -> String? {
        let name = text.utf8.prefix(40).filter {
            switch $0 {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "/"),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return name.isEmpty ? nil : String(decoding: name, as: UTF8.self)
    }
}
