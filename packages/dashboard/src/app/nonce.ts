/** The nonce of this document. Browsers hide the attribute, but keep the property. */
export const styleNonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? "";

// react-remove-scroll, which dialogs use, makes a style element. It looks for the nonce here.
(globalThis as { __webpack_nonce__?: string }).__webpack_nonce__ = styleNonce;
