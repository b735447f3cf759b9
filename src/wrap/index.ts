// The entry of `wrap`: another ACP agent with Tenon's servers.
export { Wrapper } from "./wrapper.js";
