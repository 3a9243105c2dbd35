-- Run after each start: creates the role and the database, and sets the current password.
-- A statement that fails is not logged, for it may contain the password.
SET log_min_error_statement = panic;
SELECT 'CREATE ROLE "app"'
  WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'app') \gexec
ALTER ROLE "app" LOGIN PASSWORD 'postgres.password';
SELECT 'CREATE DATABASE "app"'
  WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'app') \gexec
ALTER DATABASE "app" OWNER TO "app";
