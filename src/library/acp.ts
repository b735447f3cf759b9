// `tenon/acp`: the ACP agent on a runtime of your own.
export { type AcpStreams, serveAcp } from "./serve-acp.js";
