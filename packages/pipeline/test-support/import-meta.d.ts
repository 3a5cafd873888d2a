interface ImportMeta {
  /** Vite's function: the modules whose paths match, by path. */
  glob<Module>(pattern: string, options: { readonly eager: true }): Record<string, Module>;
}
