import CEmbedded

/// A file of the project that is part of the program.
struct EmbeddedFile: Sendable {
    let name: String
    let text: String

    private init(_ file: embedded_file) {
        name = String(cString: file.name)
        text = String(decoding: UnsafeBufferPointer(start: file.bytes, count: file.count), as: UTF8.self)
    }

    static let configurationExample = EmbeddedFile(configuration_example)

    /// The recorded runs of `demo`.
    static let demoRecordings = (0..<demo_recording_count).compactMap { demo_recording_at($0) }
        .map { EmbeddedFile($0.pointee) }
}
