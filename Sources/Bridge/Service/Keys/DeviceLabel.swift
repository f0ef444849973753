/// Words that came from the relay, for a line that people read: no control characters, and not without end.
package enum DeviceLabel {
    package static func plain(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(64).map { $0.properties.isPrintable ? $0 : "·" }))
    }
}

extension Unicode.Scalar.Properties {
    /// Neither a control character nor one that turns the order of others round.
    fileprivate var isPrintable: Bool {
        switch generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: false
        default: true
        }
    }
}
