/// Words of the relay for a line that people read: without control characters, and cut at 64 scalars.
package enum DeviceLabel {
    package static func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(64).map { $0.properties.isPrintable ? $0 : "·" }))
    }
}

extension Unicode.Scalar.Properties {
    /// False if the scalar is a control character, or reverses the order of others.
    fileprivate var isPrintable: Bool {
        switch generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
