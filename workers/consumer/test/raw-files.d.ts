/** A file's text, as Vite imports it. */
declare module "*.jsonc?raw" {
  const text: string;
  export default text;
}
