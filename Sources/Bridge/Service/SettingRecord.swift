import FoundationEssentials

/// JSON in a setting of the connection. Each record has a `version`, which its reader checks.
enum SettingRecord {
    static func bytes(of value: some Encodable) -> [UInt8] {
        do { return Array(try JSONEncoder().encode(value)) } catch {
            preconditionFailure("a record is always encodable: \(error)")
        }
    }

    /// The value of a setting, or nil if none is stored or its bytes cannot be read.
    static func read<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]?) -> Value? {
        bytes.flatMap { try? JSONDecoder().decode(type, from: Data($0)) }
    }
}
