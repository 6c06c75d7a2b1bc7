-- whether the database's collation compares bytes
select datcollate in ('C', 'POSIX', 'C.UTF-8', 'C.utf8') and datlocprovider <> 'i'
from pg_database
where datname = current_database()
