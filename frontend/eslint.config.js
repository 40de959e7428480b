import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import { defineConfig, globalIgnores } from "eslint/config";
import typescript from "typescript-eslint";

export default defineConfig(
  globalIgnores(["node_modules", "src/api/schema.d.ts"]),
  typescript.configs.strictTypeChecked,
  hooks.configs.flat["recommended-latest"],
  a11y.flatConfigs.strict,
  {
    languageOptions: { parserOptions: { projectService: true } },
    rules: {
      // A handler that starts something need not wait for it; what fails is shown by the query's state.
      "@typescript-eslint/no-misused-promises": ["error", { checksVoidReturn: { attributes: false } }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    },
  },
  { files: ["**/*.js"], extends: [typescript.configs.disableTypeChecked] },
);
